"""Prints how far theta and upsilon, and their partials, are from the reference values in
membership.json.

    python tests/reference/membership_accuracy.py

Values: largest absolute error. Partials: largest error relative to the partial's largest size over
distance (found on a grid that covers the whole change of membership; where that size is below 1e-12
the partial is negligible, and its error is taken relative to 1e-12).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from motlm.membership import theta_and_partials, upsilon_and_partials

RECORDS = json.loads((Path(__file__).parent / "membership.json").read_text())
UPSILON = ("value", "by_distance", "by_center_scale", "by_shape", "by_rate")
THETA = ("theta", "theta_by_distance", "theta_by_shape", "theta_by_rate")
NEGLIGIBLE = 1e-12


def grid(one: dict[str, float]) -> np.ndarray:
    mean, spread = (
        one["shape"] / one["rate"],
        np.hypot(np.sqrt(one["shape"]) / one["rate"], one["center_scale"]),
    )
    around = mean + spread * np.linspace(-6, 10, 200)
    near = one["center_scale"] * np.linspace(0, 10, 60)
    return np.concatenate(
        [around[around >= 0], near, mean * np.geomspace(1e-6, 1, 100), [one["distance"]]]
    )


def errors(one: dict[str, float]) -> tuple[np.ndarray, np.ndarray | None]:
    """Errors of upsilon (value, distance, center_scale, shape, rate) and of theta (value, distance,
    shape, rate).
    """
    distance = grid(one)
    computed = np.array(
        upsilon_and_partials(
            distance, int(one["n_features"]), one["center_scale"], one["shape"], one["rate"]
        )
    )
    size = np.maximum(np.abs(computed).max(axis=1), NEGLIGIBLE)
    size[0] = 1.0
    of_upsilon = np.abs(computed[:, -1] - [one[name] for name in UPSILON]) / size
    if one["distance"] == 0:
        return of_upsilon, None
    computed = np.array(theta_and_partials(distance[distance > 0], one["shape"], one["rate"]))
    size = np.maximum(np.abs(computed).max(axis=1), NEGLIGIBLE)
    size[0] = 1.0
    return of_upsilon, np.abs(computed[:, -1] - [one[name] for name in THETA]) / size


def main() -> None:
    every = [(one, *errors(one)) for one in RECORDS]
    print(
        f"upsilon at {len(every)} points: largest error of the value, and of each partial relative"
        " to its size"
    )
    print(
        f"{'d':>5} {'points':>7} {'value':>10} {'distance':>10} {'scale':>10} {'shape':>10}"
        f" {'rate':>10}"
    )
    for d in sorted({one["n_features"] for one in RECORDS}):
        rows = np.array([of_upsilon for one, of_upsilon, _ in every if one["n_features"] == d])
        print(f"{d:>5} {len(rows):>7} " + " ".join(f"{value:>10.1e}" for value in rows.max(axis=0)))
    rows = np.array([of_theta for _, _, of_theta in every if of_theta is not None])
    print(f"theta at {len(rows)} points")
    print(f"{'':>13} {'value':>10} {'distance':>10} {'shape':>10} {'rate':>10}")
    print(f"{'':>13} " + " ".join(f"{value:>10.1e}" for value in rows.max(axis=0)))


if __name__ == "__main__":
    main()
