"""Claims of papers, and the rules by which measured numbers decide them.

A point counts for a claim only if its whole enclosure does, and against it only if its whole
enclosure does; otherwise it is undecided. Percentages are those of the less favourable end of an
enclosure, rounded against the claim.
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

# The columns of a table of judged claims, which `check` returns; `FINDINGS` are those that a
# `Judgement` has in words.
FINDINGS = ("measured", "extreme", "holds_in")
COLUMNS = ("claim", "source", "words", "measure", *FINDINGS, "verdict", "why")

# How a condition's name compares a quantity with its threshold.
COMPARISONS: Mapping[str, Callable[[Any, float], Any]] = {
    "at_least": operator.ge,
    "at_most": operator.le,
    "above": operator.gt,
    "reaches": operator.ge,
}

NOTHING_TO_COMPARE = "The given curves have nothing that this measure compares."


@dataclass(frozen=True)
class Judgement:
    """What was measured for one claim, in words, and the verdict."""

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
    """A claim about listed `cases`, such as settings: reproduced if it holds in all of them.

    It is reproduced in part if it holds in some case or, given the panel of each case, in all
    cases of some panel.
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
    """The verdict on a claim that holds in some of several panels."""
    return REPRODUCED if holds.all() else IN_PART if holds.any() else NOT_REPRODUCED


@dataclass(frozen=True)
class Condition:
    """How a quantity must compare with a threshold; ``kind`` is a key of `COMPARISONS`.

    ``reaches`` is about the largest value of the quantity, the others are about every value.
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
        """Whether values meet the condition."""
        return COMPARISONS[self.kind](values, self.threshold)

    def judge(self, points: pd.DataFrame, panel: str = "eps0") -> Judgement | None:
        """The judgement of a table of points; None if no point has a value to quote.

        A panel is a mechanism and a value (or none) of the column `panel`.
        """
        judge = self._judge_largest if self.kind == "reaches" else self._judge_every
        quoted = points["high"] if self._wants_less else points["low"]
        is_known = points["low"].ne(-math.inf) | points["high"].ne(math.inf)
        points = points.assign(quoted=quoted.where(is_known))
        return None if points["quoted"].isna().all() else judge(points, panel)

    def _judge_every(self, points: pd.DataFrame, panel: str) -> Judgement:
        """The condition must hold at every point, or in part at every point of some panel."""
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
            why=self._misses(points, panel),
        )

    def _judge_largest(self, points: pd.DataFrame, panel: str) -> Judgement:
        """The condition must hold at the point with the largest value."""
        top = points.loc[points["low"].idxmax()]
        peaks = points.groupby(["mechanism", panel], dropna=False)["low"].max()
        return Judgement(
            measured=f"up to {self._percent(top.low)}, and in every panel up to "
            f"{self._percent(peaks.min())} or more",
            extreme=f"largest: {setting(top)}",
            holds_in=f"{self.holds(peaks).sum()} of {len(peaks)} panels",
            verdict=REPRODUCED if self.holds(top.low) else NOT_REPRODUCED,
        )

    def _misses(self, points: pd.DataFrame, panel: str) -> str:
        """In which panels points fail or are undecided, how many, and how badly."""
        panels = []
        for (mechanism, value), rows in points.groupby(["mechanism", panel], dropna=False):
            undecided = rows["is_open"].sum()
            failures = len(rows) - rows["holds"].sum() - undecided
            counts = [f"{failures} of {len(rows)} points fail"] if failures else []
            counts += [f"{undecided} of {len(rows)} are undecided"] if undecided else []
            if counts:
                worst = rows["quoted"].max() if self._wants_less else rows["quoted"].min()
                is_level = panel == "eps0"
                place = _place(mechanism, value) if is_level else f"{mechanism}, {panel} {value}"
                panels.append(f"{place} ({' and '.join(counts)}, worst {self._percent(worst)})")
        return f"Exceptions: {'; '.join(panels)}." if panels else ""

    @property
    def _wants_less(self) -> bool:
        return self.kind == "at_most"

    def _percent(self, value: float) -> str:
        return percentage(value, up=self._wants_less)


def percentage(value: float, *, up: bool) -> str:
    """A share in per cent, three digits, rounded up or down (exactly: 0.07 is a bit above 7 %)."""
    if math.isinf(value):
        return "∞ %" if value > 0 else "−∞ %"
    context = Context(prec=3, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{context.multiply(Decimal(float(value)), 100):f} %".replace("-", "−")


def setting(point: pd.Series) -> str:
    """Where a point lies, in words."""
    detail = f", {point.detail}" if point.detail else ""
    return f"{_place(point.mechanism, point.eps0)}, n = {point.n}{detail}"


def _place(mechanism: str, eps0: float) -> str:
    """A mechanism at an ε₀; messages of a protocol may have none."""
    return mechanism if math.isnan(eps0) else f"{mechanism}, ε₀ = {eps0:g}"


# What measures a claim: a function of the curves, or of run times if the claim is ``timed``. It
# returns points if the claim has a condition, else a judgement, and None if there is nothing to
# compare.
Measure: TypeAlias = Callable[[Any], pd.DataFrame | Judgement | None]


@dataclass(frozen=True)
class Claim:
    """One claim of a paper in our words, how it is measured, and when it holds.

    It is measured by ``compare`` or by ``function``; a claim without either is not measured, and
    ``measure`` says why. ``cause`` explains a claim that is not reproduced in full, and ``note`` is
    always told. One failure refutes a ``refutable`` claim: it cannot be reproduced in part.
    """

    name: str
    source: str
    words: str
    measure: str
    compare: Comparison | None = None
    function: Measure | None = None
    condition: Condition | None = None
    panel: str = "eps0"
    refutable: bool = False
    timed: bool = False
    cause: str = ""
    note: str = ""

    def judge(self, data: Any) -> Judgement | None:
        """The judgement on evidence, or on run times if ``timed``; None if nothing is measured."""
        measure = self.compare.points if self.compare else self.function
        result = measure(data) if measure else None
        if self.condition and isinstance(result, pd.DataFrame):
            result = self.condition.judge(result, self.panel)
        if self.refutable and result and result.verdict == IN_PART:
            result = replace(result, verdict=NOT_REPRODUCED)
        return result


def claim_of(entry: Mapping[str, Any], panel: str, function: Measure | None) -> Claim:
    """The claim of an entry of claims.yaml, whose own measure is `function` if it has one.

    Raises ValueError for a claim with two measures, or with none and no reason for that.
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
    """One row per claim, with the columns `COLUMNS`.

    Parameters
    ----------
    claims
        Claims of one paper.
    evidence
        The curves for each claim that is to be measured on curves. Rows are chosen by their
        content, never by the names of experiments or curves; rows that a claim is not about are
        ignored. A claim that is left out is not measured.
    seconds
        One row per curve: ``bound`` and ``seconds``, the wall time of its job.

    """
    rows = []
    for claim in claims:
        data = seconds if claim.timed else evidence.get(claim.name)
        rows.append(_row(claim, None if data is None else claim.judge(data)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(claim: Claim, judgement: Judgement | None) -> dict[str, str]:
    words = {name: getattr(claim, name) for name in ("source", "words", "measure")}
    row = {"claim": claim.name, **words}
    if judgement is None:
        why = "" if claim.measure.startswith("None: ") else NOTHING_TO_COMPARE
        return row | dict.fromkeys(FINDINGS, "") | {"verdict": NOT_MEASURED, "why": why}
    cause = "" if judgement.verdict == REPRODUCED else claim.cause
    return row | {
        **{name: getattr(judgement, name) for name in (*FINDINGS, "verdict")},
        "why": " ".join(filter(None, (judgement.why, cause, claim.note))),
    }
