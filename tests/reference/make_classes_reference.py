"""Reference values of the losses of several classes, in arbitrary precision; writes classes.json
beside itself.

    python tests/reference/make_classes_reference.py          (needs mpmath; five minutes)

Scores are independent, s_k ~ N(mean_k, variance).

- The expectation of ln sum exp(s_k), by Frullani's integral, ln z = int (exp(-t) - exp(-t z)) / t
  dt, which takes the expectation of z into a product: int exp(-e^u) - prod_k L_k(e^u) du, with
  L_k(t) = E exp(-t exp(s_k)), an integral of its own.
- The probability that each score is the largest, int phi(x - r_k) prod_{j != k} Phi(x - r_j) dx.
- The probability that some sign is wrong, 1 - prod_k Phi(z_k r_k); r = mean / sqrt(variance).

Integrands are analytic and vanish at both ends, so that the trapezoidal rule converges
exponentially; a second rule with other nodes checks the first. Nothing here is shared with the
library.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

HERE = Path(__file__).parent
SEED, DIGITS, AGREED = 7, 30, mpf("1e-13")


def trapezoid(function: Any, low: Any, high: Any, steps: int) -> Any:
    step = (mpf(high) - low) / steps
    return step * mp.fsum(function(low + (i + mpf("0.5")) * step) for i in range(steps))


def integral(function: Any, low: Any, high: Any, steps: int) -> Any:
    first, second = (trapezoid(function, low, high, n) for n in (steps, (5 * steps) // 4))
    assert abs(first - second) < AGREED, (first, second)
    return second


def log_sum(mean: list[float], variance: float) -> Any:
    """E ln sum exp(s_k)."""
    deviation = mp.sqrt(variance)
    if not variance:
        return mp.log(mp.fsum(mp.exp(one) for one in mean))
    nodes = [(mpf(i) / 8, mp.npdf(mpf(i) / 8) / 8) for i in range(-80, 81)]

    @cache
    def laplace(one: float, u: Any) -> Any:
        return mp.fsum(w * mp.exp(-mp.exp(u + one + deviation * x)) for x, w in nodes)

    def inside(u: Any) -> Any:
        return mp.exp(-mp.exp(u)) - mp.fprod(laplace(one, u) for one in mean)

    reach = 40 + 10 * deviation
    return integral(inside, -max(mean) - reach, -min(mean) + reach, int(8 * reach))


def largest(ratio: list[float]) -> list[Any]:
    """P(s_k is the largest), of each k."""

    def chance(k: int) -> Any:
        rest = ratio[:k] + ratio[k + 1 :]

        def inside(x: Any) -> Any:
            return mp.npdf(x - ratio[k]) * mp.fprod(mp.ncdf(x - other) for other in rest)

        return integral(inside, min(ratio) - 12, max(ratio) + 12, int(8 * (max(ratio) + 24)))

    found = [chance(k) for k in range(len(ratio))]
    assert abs(mp.fsum(found) - 1) < AGREED
    return found


def any_sign(ratio: list[float], y: int) -> Any:
    signs = [1 if k == y else -1 for k in range(len(ratio))]
    return 1 - mp.fprod(mp.ncdf(z * one) for z, one in zip(signs, ratio, strict=True))


def case(source: random.Random) -> dict[str, Any]:
    count = source.choice([3, 3, 4, 6, 10])
    spread = source.choice([0.1, 1.0, 3.0])
    mean = [round(source.gauss(0.0, spread), 3) for _ in range(count)]
    if source.random() < 0.2:
        mean = mean[:1] * count  # all alike
    variance = source.choice([0.0, 1e-4, 0.01, 0.25, 1.0, 4.0, 30.0])
    y = source.randrange(count)
    made: dict[str, Any] = {"mean": mean, "variance": variance, "y": y}
    made["log_loss"] = float(log_sum(mean, variance) - mpf(mean[y]))
    if variance >= 0.25:
        ratio = [mpf(one) / mp.sqrt(variance) for one in mean]
        made["largest"] = [float(one) for one in largest(ratio)]
        made["any_sign"] = float(any_sign(ratio, y))
    return made


def main() -> None:
    mp.dps = DIGITS
    source = random.Random(SEED)
    cases = [case(source) for _ in range(60)]
    crowd = [mpf(0)] * 100  # many classes, of which one is ahead
    crowd[3] = mpf(2)
    chance = largest_of_crowd(crowd)
    content = {"cases": cases, "crowd": {"ahead": 2.0, "count": 100, "largest": chance}}
    (HERE / "classes.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def largest_of_crowd(ratio: list[Any]) -> list[float]:
    """Of the one ahead, and of each of the others, which are alike."""

    def inside(x: Any) -> Any:
        return mp.npdf(x - ratio[3]) * mp.ncdf(x) ** (len(ratio) - 1)

    ahead = integral(inside, -12, 14, 260)
    return [float(ahead), float((1 - ahead) / (len(ratio) - 1))]


if __name__ == "__main__":
    main()
