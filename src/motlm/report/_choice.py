"""How the number of localities and lambda' were chosen: the scores of all that was tried, and what
was kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..folds import score_name
from ..mixture import Mixture
from ..optimize import Record
from ..tables import number
from ._charts import COLORS, Chart

__all__ = ["choice_of"]

_MARGIN = 0.08  # of the range of the scores


def choice_of(mixture: Mixture) -> dict[str, Any] | None:
    """A chart with a line for each number of localities, and a table; None where nothing was to be
    chosen.
    """
    provenance = mixture.provenance
    tried = [one for one in provenance.path if one.stage != "final" and one.rank == 0]
    name = next((n for n in _CRITERIA if any(getattr(one, n) is not None for one in tried)), None)
    if name is None:
        return None
    best = _best([one for one in tried if getattr(one, name) is not None], name)
    if len(best) < 2:
        return None
    kept = (mixture.n_localities, provenance.inverse_temperature)
    what, better = _CRITERIA[name]
    if name == "held_out_score":
        what = f"{score_name(mixture.target)} of rows left out"
    scores = np.array([getattr(one, name) for one in best.values()])
    margin = _MARGIN * float(np.ptp(scores)) or 0.5 * abs(float(scores[0])) or 0.5
    places = sorted({np.log2(one.inverse_temperature) for one in best.values()})
    chart = Chart(
        (places[0] - 0.3, places[-1] + 0.3),
        (float(scores.min()) - margin, float(scores.max()) + margin),
        "λ′ (a larger one follows the rows more closely)",
        what,
        f"{what} for each number of localities and λ′ that was tried; the table has the numbers",
    )
    chart.name_x(places, [number(float(2.0**one)) for one in places])
    legend = []
    for k, n in enumerate(sorted({one[0] for one in best})):
        color = COLORS[k % len(COLORS)]
        own = sorted((np.log2(t), getattr(one, name)) for (m, t), one in best.items() if m == n)
        x, y = np.array(own).T
        chart.line(x, y, color)
        chart.dots(x, y, color)
        legend.append({"color": color, "text": _localities(n)})
    sizes = {one.n_localities for one in tried if one.stage == "search"}
    ring = best.get(kept) or best.get((provenance.searched_localities, kept[1]))
    if ring is not None:
        at = np.log2([ring.inverse_temperature]), np.array([getattr(ring, name)])
        chart.dots(*at, "var(--ink)", radius=9.0, hollow=True)
    alone = [
        one.held_out_score
        for one in tried
        if one.stage == "without" and one.held_out_score is not None
    ]
    score, without = None if ring is None else ring.held_out_score, None
    if kept[0] and alone and score is not None and max(alone) > score:
        without = number(max(alone)), number(score)
    rows = [
        (
            _localities(n),
            number(temperature),
            number(getattr(one, name)),
            "kept" if one is ring else "",
        )
        for (n, temperature), one in sorted(best.items())
    ]
    return {
        **chart.made,
        "legend": legend,
        "rows": rows,
        "what": what,
        "better": better,
        "kept": f"{_localities(kept[0])}, λ′ = {number(kept[1])}",
        "ringed": ring is not None,
        "asked": kept[0] > 0 and len(sizes) == 1,
        "without": without,
        "dropped": provenance.searched_localities - mixture.n_localities,
    }


_CRITERIA = {"held_out_score": ("score of rows left out", "larger"), "bound": ("bound", "smaller")}


def _best(records: list[Record], name: str) -> dict[tuple[int, float], Record]:
    """Of each number and lambda': there is a record for each kind of model that was tried."""
    sign = -1.0 if _CRITERIA[name][1] == "larger" else 1.0
    found: dict[tuple[int, float], Record] = {}
    for one in sorted(records, key=lambda one: sign * getattr(one, name)):
        found.setdefault((one.n_localities, one.inverse_temperature), one)
    return found


def _localities(n: int) -> str:
    if n == 0:
        return "no locality"
    return f"{n} localit{'y' if n == 1 else 'ies'}"
