"""Claims of papers, and the rules by which measured numbers decide them.

A claim holds at a point if it holds for the whole enclosure, and fails there if it fails for the
whole enclosure. Otherwise the point is undecided, and the verdict counts it as one where the claim
does not hold. Percentages are those of the less favourable end of an enclosure, rounded against the
claim.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, TypeAlias

import pandas as pd

from reproduction.papers.points import Comparison, Evidence

REPRODUCED = "reproduced"
IN_PART = "reproduced in part"
NOT_REPRODUCED = "not reproduced"
NOT_MEASURED = "not measured"

# The verdict on what we add, by the verdict that a paper would get: no paper said it.
OUR_VERDICTS = {
    REPRODUCED: "holds",
    IN_PART: "holds in part",
    NOT_REPRODUCED: "does not hold",
    NOT_MEASURED: NOT_MEASURED,
}

# The columns of the table of `check` with the numbers and places that a `Judgement` reports.
FINDINGS = ("measured", "extreme", "holds_in")
# All columns of that table, which has a row for each claim.
COLUMNS = ("claim", "is_ours", "source", "words", "measure", *FINDINGS, "verdict", "why")

# The comparison of a quantity with a threshold, by the name of the condition.
COMPARISONS: Mapping[str, Callable[[Any, float], Any]] = {
    "at_least": operator.ge,
    "at_most": operator.le,
    "above": operator.gt,
    "reaches": operator.ge,
}

NOTHING_TO_COMPARE = "The given curves have nothing that this measure compares."


@dataclass(frozen=True)
class Judgement:
    """The verdict on one claim, and what was measured, in words."""

    measured: str
    holds_in: str
    verdict: str
    extreme: str = ""
    why: str = ""


def judge_cases(
    holds: Sequence[bool] | pd.Series,
    cases: str,
    measured: str,
    extreme: str = "",
    panels: Sequence[Any] | pd.Series | None = None,
) -> Judgement:
    """Return the judgement on a claim about cases, given whether it `holds` in each.

    `cases` is what to call them, such as "settings". The claim is reproduced if it holds in all
    cases, and in part if it holds in all cases of some panel. `panels` has the panel of each case;
    if left out, each case is a panel of its own.
    """
    results = pd.Series(list(holds), dtype=bool)
    panels = results.index if panels is None else list(panels)
    return Judgement(
        measured=measured,
        extreme=extreme,
        holds_in=f"{results.sum()} of {len(results)} {cases}",
        verdict=_verdict(results.groupby(panels).all()),
    )


def _verdict(holds: pd.Series) -> str:
    """Return the verdict on a claim, given whether it holds in each panel."""
    return REPRODUCED if holds.all() else IN_PART if holds.any() else NOT_REPRODUCED


@dataclass(frozen=True)
class Condition:
    """How a quantity must compare with a threshold; ``kind`` is a key of `COMPARISONS`.

    The condition ``reaches`` is about the largest value of the quantity, the others about all.
    """

    kind: str
    threshold: float

    @property
    def words(self) -> str:
        """The condition as a sentence."""
        threshold = f"{100.0 * self.threshold:g} %" if self.threshold else "0"
        if self.kind == "reaches":
            return f"Reproduced if the largest value is at least {threshold}."
        relation = self.kind.replace("_", " ")
        return f"Holds at a point: {relation} {threshold}.".replace("-", "−")

    def holds(self, values: pd.Series) -> pd.Series:
        """Return whether values meet the condition."""
        return COMPARISONS[self.kind](values, self.threshold)

    def judge(self, points: pd.DataFrame, panel: str = "eps0") -> Judgement | None:
        """Return the judgement on a table of points; None if no point has a known value.

        A panel is a mechanism and a value (or none) of the column `panel`.
        """
        judge = self._judge_largest if self.kind == "reaches" else self._judge_every
        quoted = points["high"] if self._wants_less else points["low"]
        is_known = points["low"].ne(-math.inf) | points["high"].ne(math.inf)
        points = points.assign(quoted=quoted.where(is_known))
        return None if points["quoted"].isna().all() else judge(points, panel)

    def _judge_every(self, points: pd.DataFrame, panel: str) -> Judgement:
        """Judge a condition about every point; in part if a whole panel meets it."""
        at_low, at_high = self.holds(points["low"]), self.holds(points["high"])
        points = points.assign(holds=at_low & at_high, is_open=at_low ^ at_high)
        panels = points.groupby(["mechanism", panel], dropna=False)["holds"].all()
        ordered = points.dropna(subset="quoted").sort_values(
            "quoted", ascending=self._wants_less, kind="stable"
        )
        best, worst = ordered.iloc[0], ordered.iloc[-1]
        numbers = {
            "worst": worst.quoted,
            "best": best.quoted,
            "median": points["quoted"].median(),
        }
        return Judgement(
            measured=", ".join(f"{name} {self._percent(x)}" for name, x in numbers.items()),
            extreme=f"worst: {setting(worst)}; best: {setting(best)}",
            holds_in=f"{panels.sum()} of {len(panels)} panels, "
            f"{points['holds'].sum()} of {len(points)} points",
            verdict=_verdict(panels),
            why=self._exceptions(points, panel),
        )

    def _judge_largest(self, points: pd.DataFrame, panel: str) -> Judgement:
        """Return the judgement on a condition about the point with the largest value."""
        top = points.loc[points["low"].idxmax()]
        peaks = points.groupby(["mechanism", panel], dropna=False)["low"].max()
        return Judgement(
            measured=f"up to {self._percent(top.low)}, and in every panel up to "
            f"{self._percent(peaks.min())} or more",
            extreme=f"largest: {setting(top)}",
            holds_in=f"{self.holds(peaks).sum()} of {len(peaks)} panels",
            verdict=REPRODUCED if self.holds(top.low) else NOT_REPRODUCED,
        )

    def _exceptions(self, points: pd.DataFrame, panel: str) -> str:
        """Return the panels with points that fail or are undecided.

        How many, and the worst value.
        """
        exceptions = []
        for (mechanism, value), rows in points.groupby(["mechanism", panel], dropna=False):
            undecided = rows["is_open"].sum()
            failures = len(rows) - rows["holds"].sum() - undecided
            counts = [f"{failures} of {len(rows)} points fail"] if failures else []
            counts += [f"{undecided} of {len(rows)} are undecided"] if undecided else []
            if counts:
                worst = rows["quoted"].max() if self._wants_less else rows["quoted"].min()
                is_eps0 = panel == "eps0"
                place = _place(mechanism, value) if is_eps0 else f"{mechanism}, {panel} {value}"
                exceptions.append(f"{place} ({' and '.join(counts)}, worst {self._percent(worst)})")
        return f"Exceptions: {'; '.join(exceptions)}." if exceptions else ""

    @property
    def _wants_less(self) -> bool:
        return self.kind == "at_most"

    def _percent(self, value: float) -> str:
        return percentage(value, up=self._wants_less)


def percentage(value: float, *, up: bool) -> str:
    """Return a share in per cent, the float's exact value rounded up or down to three digits."""
    if math.isinf(value):
        return "∞ %" if value > 0 else "−∞ %"
    context = Context(prec=3, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{context.multiply(Decimal(float(value)), 100):f} %".replace("-", "−")


def setting(point: pd.Series) -> str:
    """Return where a point lies, in words."""
    detail = f", {point.detail}" if point.detail else ""
    return f"{_place(point.mechanism, point.eps0)}, n = {point.n}{detail}"


def _place(mechanism: str, eps0: float) -> str:
    """Return a mechanism and its ε₀, which is NaN for protocols without one."""
    return mechanism if math.isnan(eps0) else f"{mechanism}, ε₀ = {eps0:g}"


# A function that measures a claim on the curves, or on run times if the claim is ``timed``. It
# returns a table of points if the claim has a condition, else a judgement. It returns None if there
# is nothing to compare.
Measure: TypeAlias = Callable[[Any], pd.DataFrame | Judgement | None]


@dataclass(frozen=True)
class Claim:
    """One claim of a paper in our words, how it is measured, and when it holds.

    The paper does not say what ``is_ours``: such a claim is judged like the others, but its verdict
    is one of `OUR_VERDICTS`.
    ``compare`` or ``function`` measures the claim. A claim without either is not measured, and
    ``measure`` says why. The table has the ``note`` of every measured claim, and the ``cause`` only
    if the claim is not reproduced in full. One failure refutes a ``refutable`` claim: it cannot be
    reproduced in part.
    """

    name: str
    source: str
    words: str
    measure: str
    compare: Comparison | None = None
    function: Measure | None = None
    condition: Condition | None = None
    panel: str = "eps0"
    is_ours: bool = False
    refutable: bool = False
    timed: bool = False
    cause: str = ""
    note: str = ""

    def judge(self, data: Any) -> Judgement | None:
        """Judge the evidence, or run times if ``timed``; return None if nothing is measured."""
        measure = self.compare.points if self.compare else self.function
        result = measure(data) if measure else None
        if self.condition and isinstance(result, pd.DataFrame):
            result = self.condition.judge(result, self.panel)
        if self.refutable and result and result.verdict == IN_PART:
            result = replace(result, verdict=NOT_REPRODUCED)
        return result


def claim_of(entry: Mapping[str, Any], panel: str, function: Measure | None) -> Claim:
    """Return the claim of an entry of claims.yaml; `function` measures it if no curves do.

    Raises ValueError for a claim with two measures, and for one with neither a measure nor a
    reason.
    """
    fields = dict(entry)
    comparisons = [
        _comparison(fields.pop(kind), saves=kind == "saves")
        for kind in ("saves", "exceeds")
        if kind in fields
    ]
    conditions = [Condition(kind, fields.pop(kind)) for kind in COMPARISONS if kind in fields]
    sentences = [
        *(f"{compare.words}." for compare in comparisons),
        fields.pop("measure", ""),
        *(condition.words for condition in conditions),
        "One failure refutes it." if fields.get("refutable") else "",
    ]
    measure = " ".join(filter(None, sentences))
    has_measure = not measure.startswith("None: ")
    if len(comparisons) + (function is not None) != has_measure:
        raise ValueError(f"claim {entry['name']} must have one measure or say why it has none")
    return Claim(
        **fields,
        measure=measure,
        compare=next(iter(comparisons), None),
        function=function,
        condition=next(iter(conditions), None),
        panel=panel,
    )


def _comparison(entry: Mapping[str, Any], saves: bool) -> Comparison:
    options = {key: value for key, value in entry.items() if key not in ("bound", "others")}
    return Comparison(entry["bound"], tuple(entry["others"]), saves, **options)


def check(
    claims: Sequence[Claim],
    evidence: Mapping[str, Evidence],
    seconds: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return one row per claim, with the columns `COLUMNS`.

    Parameters
    ----------
    claims
        Claims of one paper.
    evidence
        The curves of each claim that is measured on curves, by the name of the claim. Measures
        select rows by their content, never by the names of experiments or curves. A claim that is
        left out is not measured.
    seconds
        One row per curve: ``bound`` and ``seconds``, the wall time of its job.
    """
    rows = []
    for claim in claims:
        data = seconds if claim.timed else evidence.get(claim.name)
        rows.append(_row(claim, None if data is None else claim.judge(data)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(claim: Claim, judgement: Judgement | None) -> dict[str, Any]:
    words = {name: getattr(claim, name) for name in ("is_ours", "source", "words", "measure")}
    row = {"claim": claim.name, **words}
    if judgement is None:
        why = "" if claim.measure.startswith("None: ") else NOTHING_TO_COMPARE
        return row | dict.fromkeys(FINDINGS, "") | {"verdict": NOT_MEASURED, "why": why}
    verdict = judgement.verdict
    cause = "" if verdict == REPRODUCED else claim.cause
    return row | {
        **{name: getattr(judgement, name) for name in FINDINGS},
        "verdict": OUR_VERDICTS[verdict] if claim.is_ours else verdict,
        "why": " ".join(filter(None, (judgement.why, cause, claim.note))),
    }
