"""The records that each table and figure is computed from."""

from __future__ import annotations

from collections.abc import Iterable

from motlm.datasets import KEEL

from .methods import CLASSIFIERS, POINTS, REGRESSORS, SYNTHETIC, TRUE, origin, unusable
from .store import Key

SPLITS = 10
SIZES = {"classification": ("n=1", "n=2"), "regression": ("n=0", "n=1", "n=2", "n=3", "n=4")}
PREPARATIONS = ("paper", "sound")
SETS = {task: [one.name for one in KEEL if one.task == task] for task in SIZES}
PEERS = {"classification": tuple(CLASSIFIERS), "regression": tuple(REGRESSORS)}
MACHINES = {
    "clf": ("linear SVM", "Gaussian SVM"),
    "reg": ("least squares", "linear SVR", "Gaussian SVR"),
}  # of tables 3 and 5
RIVALS = {"classification": ("LoE 2", "LoE 3"), "regression": MACHINES["reg"]}  # of tables 9 and 10
FEW = {"EBM": 2}  # number of splits of slow methods (a minute or more), paper's preparation only


def _keys(data: Iterable[str], preparation: str, methods: Iterable[str], splits: int) -> list[Key]:
    return [
        Key(one, preparation, method, split)
        for one in data
        for method in methods
        for split in range(min(splits, FEW.get(method, splits)))
        if not unusable(method)
    ]


def known_points(kind: str, splits: int) -> list[Key]:
    """Synthetic sets of a kind ("clf", "reg") with known points: the mixture, SVMs or SVRs."""
    keys = []
    for data in SYNTHETIC:
        if data.startswith(kind):
            keys += _keys(
                [data],
                origin(data),
                [*MACHINES[kind], f"motlm known {TRUE[data]}", f"protocol known {TRUE[data]}"],
                splits,
            )
    return keys


def learned_points(kind: str, splits: int) -> list[Key]:
    keys = []
    for data in SYNTHETIC:
        if data.startswith(kind):
            keys += _keys(
                [data], origin(data), [f"motlm n={TRUE[data]}", f"protocol n={TRUE[data]}"], splits
            )
    return keys


def real_sets(task: str, splits: int) -> list[Key]:
    """motlm's search in both preparations, the paper's protocol and the baselines of its table."""
    keys = _keys(SETS[task], "paper", [f"protocol {size}" for size in SIZES[task]], splits)
    for preparation in PREPARATIONS:
        keys += _keys(
            SETS[task],
            preparation,
            [*(f"motlm {size}" for size in SIZES[task]), "motlm auto", *RIVALS[task]],
            splits,
        )
    return keys


def peers(splits: int) -> list[Key]:
    keys = []
    for task, names in PEERS.items():
        for preparation in PREPARATIONS:
            methods = [name for name in names if preparation == "paper" or name not in FEW]
            keys += _keys(SETS[task], preparation, [*methods, "motlm auto"], splits)
    return keys


def influence(splits: int) -> list[Key]:
    sizes = range(1, len(POINTS["clf_case1"]) + 1)
    return _keys(
        ["clf_case1"],
        origin("clf_case1"),
        [f"{who} known {n}" for n in sizes for who in ("motlm", "protocol")],
        splits,
    )
