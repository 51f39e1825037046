"""Reference values of theta, upsilon and their partials, in arbitrary precision; writes
membership.json beside itself.

    python tests/reference/make_membership_reference.py          (needs python-flint; about half an
    hour on one core)

upsilon is integrated from its definition, P(|u| <= radius) = int P(radius >= r) f(r) dr with f the
density of |u|, by
composite Gauss-Legendre rules in Arb's ball arithmetic (rounding errors are enclosed; the rule's
own error is checked by a second rule of another order). The partials are central differences of
that integral, taken with 42 digits so that 20 or so of them survive. Nothing here is shared with
the library.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import random
from multiprocessing import Pool
from pathlib import Path

from flint import acb, arb, ctx

HERE = Path(__file__).parent
DIGITS = 42
STEP = "1e-11"


def survival(shape, rate, r):
    return (rate * r).gamma_upper(shape, regularized=1)


def hankel(order, z):
    """exp(-z) I_order(z) for large z; the first omitted term is below 1e-45 of the sum."""
    total = term = acb(1)
    for m in range(1, 200):
        term *= -(4 * order**2 - (2 * m - 1) ** 2) / (8 * m * z)
        total += term
        if abs(term) < arb("1e-46"):
            return total / (2 * acb.pi() * z).sqrt()
    return acb("nan")


def density(n_features, scale, distance, r):
    """Density of |u|, u ~ N(distance e_1, scale^2 I), with z^-a I_a(z) written so that enclosures
    stay narrow.
    """
    d, e = n_features, acb(scale)
    half = acb(d) / 2
    z = distance * r / (e * e)
    if z.real > 2 * d * d + 200:  # Hankel's expansion of exp(-z) I_a(z), and the square completed
        decay = (-((r - distance) ** 2) / (2 * e * e)).exp()
        bessel = hankel(half - 1, z) * z ** (1 - half)
    else:  # the entire function 0F1(a + 1, z^2 / 4)
        decay = (-(r * r + distance * distance) / (2 * e * e)).exp()
        bessel = (z * z / 4).hypgeom_0f1(half) / (acb(2) ** (half - 1) * half.gamma())
    return r ** (d - 1) / e**d * decay * bessel


@functools.cache
def gauss(n):
    return [arb.legendre_p_root(n, j, weight=True) for j in range(n)]


def upsilon(distance, n_features, scale, shape, rate, n_nodes=48):
    """int P(radius >= r) f(r) dr by composite Gauss-Legendre rules, cut where either factor
    changes.
    """
    distance, scale, shape, rate = (acb(v) for v in (distance, scale, shape, rate))
    D, e, k, t = (float(v.real.mid()) for v in (distance, scale, shape, rate))
    typical = math.sqrt(D * D + n_features * e * e)
    low, high = max(typical - 15 * e - e * math.sqrt(n_features), 0.0), typical + 15 * e
    mean, spread = k / t, math.sqrt(k) / t
    cuts = {typical + e * j for j in range(-30, 31, 2)} | {
        mean + spread * j for j in range(-16, 41, 2)
    }
    cuts |= {mean + spread * 48 * 1.3**j for j in range(40)}
    if low == 0.0:  # the survival function has a branch point at r = 0
        cuts |= {min(mean, high) / 2**j for j in range(1, 90)}
    edges = [low, *sorted(c for c in cuts if low < c < high), high]
    total = acb(0)
    for a, b in itertools.pairwise(edges):
        middle, half = (acb(a) + acb(b)) / 2, (acb(b) - acb(a)) / 2
        for x, w in gauss(n_nodes):
            r = middle + half * x
            total += half * w * survival(shape, rate, r) * density(n_features, scale, distance, r)
    return total.real


def central(function, arguments, index):
    h = arb(STEP) * (arb(arguments[index]) if arguments[index] > 0 else arb(1))
    up, down = list(arguments), list(arguments)
    up[index], down[index] = arb(arguments[index]) + h, arb(arguments[index]) - h
    return (function(*up) - function(*down)) / (2 * h)


def record(case):
    ctx.dps = DIGITS if case[3] <= 1000 else DIGITS + 16  # a large shape loses digits
    distance, d, scale, shape, rate = case

    def value(D, e, k, t):
        return upsilon(D, d, e, k, t)

    arguments = (distance, scale, shape, rate)
    result = {
        "distance": distance,
        "n_features": d,
        "center_scale": scale,
        "shape": shape,
        "rate": rate,
        "value": value(*arguments),
        "by_distance": arb(0) if distance == 0 else central(value, arguments, 0),
        "by_center_scale": central(value, arguments, 1),
        "by_shape": central(value, arguments, 2),
        "by_rate": central(value, arguments, 3),
    }

    def tail(D, k, t):
        return survival(acb(k), acb(t), acb(D)).real

    if distance > 0:
        at = (distance, shape, rate)
        result["theta"] = tail(*at)
        for name, index in (("theta_by_distance", 0), ("theta_by_shape", 1), ("theta_by_rate", 2)):
            result[name] = central(tail, at, index)
    other = upsilon(distance, d, scale, shape, rate, n_nodes=36)
    assert abs(other - result["value"]) < arb("1e-20"), (case, other, result["value"])
    for key, number in result.items():
        if isinstance(number, arb):
            assert number.rad() < arb("1e-16") * (1 + abs(number.mid())), (case, key, number)
            result[key] = float(number.mid())
    return result


def cases(n, seed=0):
    """Parameters drawn log-uniformly, distances mostly where membership changes; and corners."""
    draw = random.Random(seed)
    chosen = []

    def log_uniform(low, high):
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    while len(chosen) < n:
        d = draw.choice([1, 2, 3, 5, 20, 100])
        e, k, t = log_uniform(1e-3, 2), log_uniform(0.5, 1000), log_uniform(0.05, 1000)
        where = draw.random()
        if where < 0.65:
            D = abs(k / t + draw.gauss(0, 1.5) * math.hypot(math.sqrt(k) / t, e))
        elif where < 0.8:
            D = e * draw.uniform(0, 30)
        elif where < 0.9:
            D = draw.uniform(0, 50)
        else:
            D = 0.0
        if D <= 50:
            chosen.append((D, d, e, k, t))
    for d in (1, 2, 100):
        for e in (1e-3, 2.0):
            for k, t in (
                (0.5, 1000.0),
                (1000.0, 1000.0),
                (1000.0, 20.0),
                (2.0, 0.1),
                (0.5, 0.05),
                (30.0, 15.0),
            ):
                chosen.append((min(50.0, k / t), d, e, k, t))
                chosen.append((0.0, d, e, k, t))
    return chosen


def sharp_cases(n, seed=1):
    """Radii that are known to within a percent or less: large shapes and rates."""
    draw = random.Random(seed)
    chosen = []
    for _ in range(n):
        d = draw.choice([1, 2, 3, 5, 20, 100])
        e, k, radius = (
            math.exp(draw.uniform(math.log(a), math.log(b)))
            for a, b in ((1e-3, 2), (1e3, 1e5), (0.1, 10))
        )
        D = abs(radius + draw.gauss(0, 1.5) * math.hypot(radius / math.sqrt(k), e))
        chosen.append((D, d, e, k, k / radius))
    for d in (2, 100):
        for e in (1e-3, 2.0):
            for radius in (0.1, 10.0):
                chosen += [(radius, d, e, 1e5, 1e5 / radius), (0.0, d, e, 1e5, 1e5 / radius)]
    return chosen


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default=str(HERE / "membership.json"))
    options = parser.parse_args()
    todo = cases(options.points) + sharp_cases(options.points // 5)
    done = []
    with Pool(options.jobs) as pool:
        for number, one in enumerate(pool.imap(record, todo), 1):
            done.append(one)
            print(f"\r{number} of {len(todo)}", end="", flush=True)
    print()
    Path(options.out).write_text("[\n" + ",\n".join(json.dumps(one) for one in done) + "\n]\n")
