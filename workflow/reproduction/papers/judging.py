"""From measured points to a judgement: numbers in words, and a verdict by an explicit rule.

A point counts for a claim only where its whole enclosure does, and against it only where its whole
enclosure does; between the two nothing is decided. Percentages are those of the less favourable end
of the enclosure, rounded against the claim.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from reproduction.papers.base import said
from reproduction.papers.tables import table as markdown_table

REPRODUCED = "reproduced"
IN_PART = "reproduced in part"
NOT_REPRODUCED = "not reproduced"
NOT_MEASURED = "not measured"
# Marks in front of verdicts, which tell them apart at a glance.
MARKS = {REPRODUCED: "✓", IN_PART: "◐", NOT_REPRODUCED: "✗", NOT_MEASURED: "–"}

# Papers have ε₀ from 0.1 to 5: from 1 on ε₀ is called large here.
LARGE_EPS0 = 1.0


@dataclass(frozen=True)
class Judgement:
    """What was measured for one claim, in words, and the verdict."""

    measured: str
    holds_in: str
    verdict: str
    extreme: str = ""
    why: str = ""

    @property
    def reproduced(self) -> bool:
        """Whether nothing is left to explain."""
        return self.verdict == REPRODUCED


def verdict(whole: bool, part: bool = False) -> str:
    """Of what is found as claimed as a whole, or in part."""
    return REPRODUCED if whole else IN_PART if part else NOT_REPRODUCED


def of_cases(
    holds: Sequence[bool] | pd.Series,
    cases: str,
    measured: str,
    extreme: str = "",
    panels: Sequence[Any] | pd.Series | None = None,
) -> Judgement:
    """A claim about listed `cases`, such as points: reproduced in all of them.

    In part where it holds in some case or, given the panel of each, in all cases of some panel.
    """
    found = pd.Series(list(holds), dtype=bool)
    whole = found if panels is None else found.groupby(list(panels)).all()
    return Judgement(
        measured=measured,
        extreme=extreme,
        holds_in=f"{found.sum()} of {len(found)} {cases}",
        verdict=verdict(bool(found.all()), bool(whole.any())),
    )


def refutable(judgement: Judgement) -> Judgement:
    """The judgement of a claim about everything, which a single case refutes."""
    return judgement if judgement.reproduced else replace(judgement, verdict=NOT_REPRODUCED)


@dataclass(frozen=True)
class Rule:
    """A quantity compares with a threshold as claimed: ``holds(quantity, threshold)``."""

    holds: Callable[[pd.Series, float], pd.Series]
    threshold: float

    @property
    def wants_less(self) -> bool:
        """Whether small quantities are in favour of the claim."""
        return self.holds is operator.le

    def percent(self, value: float) -> str:
        """A share in per cent, rounded against the claim."""
        return percentage(value, up=self.wants_less)


def at_least(threshold: float) -> Rule:
    """The rule that a quantity is the threshold or more."""
    return Rule(operator.ge, threshold)


def at_most(threshold: float) -> Rule:
    """The rule that a quantity is the threshold or less."""
    return Rule(operator.le, threshold)


POSITIVE = Rule(operator.gt, 0.0)


def everywhere(points: pd.DataFrame, rule: Rule, panel: str = "eps0") -> Judgement | None:
    """A claim about all points. A panel is a mechanism and a value (or none) of the column `panel`.

    Reproduced where every point of every panel holds; in part where every point of some panel does;
    else not reproduced. None where there is no point.
    """
    if points.empty:
        return None
    at_low, at_high = (rule.holds(points[end], rule.threshold) for end in ("low", "high"))
    points = points.assign(holds=at_low & at_high, open=at_low ^ at_high)
    quoted = points["high"] if rule.wants_less else points["low"]
    # Of a point that could not be computed there is no number to quote.
    points["quoted"] = quoted.where(points["low"].ne(-math.inf) | points["high"].ne(math.inf))
    whole = points.groupby(["mechanism", panel], dropna=False)["holds"].all()
    if points["quoted"].isna().all():
        return None
    ordered = points.dropna(subset="quoted").sort_values(
        "quoted", ascending=rule.wants_less, kind="stable"
    )
    best, worst = ordered.iloc[0], ordered.iloc[-1]
    at = {"worst": worst.quoted, "best": best.quoted, "median": points["quoted"].median()}
    return Judgement(
        measured=", ".join(f"{name} {rule.percent(value)}" for name, value in at.items()),
        extreme=f"worst: {setting(worst)}; best: {setting(best)}",
        holds_in=f"{whole.sum()} of {len(whole)} panels, "
        f"{points['holds'].sum()} of {len(points)} points",
        verdict=verdict(whole.all(), whole.any()),
        why=_misses(points, rule, panel),
    )


def peak(points: pd.DataFrame, claimed: float, nearly: float, half: float) -> Judgement | None:
    """A claim that a quantity goes up to `claimed` where ε₀ is large and n small.

    ε₀ counts as large from `LARGE_EPS0` on, n as small in the lower half of a geometric grid.
    Reproduced where the largest value is at least `nearly` and lies there; in part where it is so
    large elsewhere, or lies there and is at least `half`. None where no ε₀ is large.
    """
    large = points[points["eps0"] >= LARGE_EPS0]
    if large.empty:
        return None
    top = points.loc[points["low"].idxmax()]
    small = top.n <= math.sqrt(points["n"].min() * points["n"].max())
    there = top.eps0 >= LARGE_EPS0 and small
    peaks = large.groupby(["mechanism", "eps0"])["low"].max()
    listed = ", ".join(
        f"{percentage(value, up=False)} ({mechanism}, ε₀ = {eps0:g})"
        for (mechanism, eps0), value in peaks.items()
    )
    more = top.low - claimed
    points_apart = percentage(abs(more), up=more < 0.0).removesuffix(" %")
    return Judgement(
        measured=f"up to {percentage(top.low, up=False)}; at large ε₀ up to {listed}",
        extreme=f"largest: {setting(top)}",
        holds_in=f"{(peaks >= nearly).sum()} of {len(peaks)} panels of large ε₀ "
        f"({100.0 * nearly:.0f} % or more)",
        verdict=verdict(
            top.low >= nearly and there, top.low >= nearly or (there and top.low >= half)
        ),
        why=f"Our largest value is {points_apart} percentage points "
        f"{'below' if more < 0.0 else 'above'} the paper's.",
    )


def up_to(points: pd.DataFrame, *, nearly: float, panel: str | None = None) -> Judgement | None:
    """A claim that a quantity goes up to about `nearly`, wherever that may be.

    Reproduced where the largest value is at least that. Counts the panels in which it is reached,
    as in `everywhere`, or without the column `panel` the points.
    None where no point could be computed.
    """
    points = points[points["low"] > -math.inf]
    if points.empty:
        return None
    top = points.loc[points["low"].idxmax()]
    if panel is None:
        reached, of = points["low"].ge(nearly), f"points ({100.0 * nearly:.0f} % or more)"
    else:
        reached, of = points.groupby(["mechanism", panel])["low"].max().ge(nearly), "panels"
    return Judgement(
        measured=f"up to {percentage(top.low, up=False)}",
        extreme=f"largest: {setting(top)}",
        holds_in=f"{reached.sum()} of {len(reached)} {of}",
        verdict=verdict(top.low >= nearly),
    )


def quick(seconds: pd.DataFrame, claimed: float) -> Judgement | None:
    """A claim that one curve of an upper bound takes no more than `claimed` seconds.

    Reproduced where the slowest does not, in part where the median does not.
    """
    times = seconds.loc[seconds["bound"] == "upper", "seconds"]
    if times.empty:
        return None
    in_time = times <= claimed
    return Judgement(
        measured=_times(times),
        holds_in=f"{in_time.sum()} of {len(times)} curves",
        verdict=verdict(in_time.all(), times.median() <= claimed),
    )


# Quantities that claims speak of, enclosed at every point of the curves.
#
# Two curves are compared where both have a point: where nothing can be compared a table is empty.


def enclosures(
    curves: pd.DataFrame, bound: str, *also: str, by: Sequence[str], quantity: str = "epsilon"
) -> pd.DataFrame:
    """``low`` and ``high`` of one bound, indexed by the columns `by` and `also`.

    Of several rows the largest counts: upper bounds must cover every pair of inputs, and of lower
    bounds the best is wanted. A setting that a curve leaves open is 0.
    """
    rows = curves[curves["bound"] == bound]
    if "quantity" in rows:
        rows = rows[rows["quantity"] == quantity]
    index = [*by, *also]
    numbers = [name for name in index if name not in ("mechanism", "regime", "detail")]
    settings = rows[numbers].apply(pd.to_numeric, errors="coerce").fillna(0.0)
    found = rows.reindex(columns=[f"{quantity}_lower", f"{quantity}_upper"])
    ends = rows.assign(**settings, low=found.iloc[:, 0], high=found.iloc[:, 1])
    # Of rows one of which is empty the largest is not known.
    return ends.groupby(index)[["low", "high"]].max(skipna=False).astype(float)


def ratio(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Enclosure of ours / theirs where both have a row; a divisor of 0 leaves that end open."""
    pairs = ours.join(theirs.add_suffix("_theirs"), how="inner")
    divisors = pairs[["high_theirs", "low_theirs"]].where(lambda ends: ends != 0.0)
    # An end that is not known stays so.
    low = (pairs["low"] / divisors["high_theirs"]).where(pairs["high_theirs"] != 0.0, 0.0)
    high = (pairs["high"] / divisors["low_theirs"]).where(pairs["low_theirs"] != 0.0, np.inf)
    return pd.DataFrame({"low": low, "high": high})


def one_minus(ends: pd.DataFrame) -> pd.DataFrame:
    """Enclosure of 1 − a quantity."""
    return pd.DataFrame({"low": 1.0 - ends["high"], "high": 1.0 - ends["low"]})


def deficit(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """By how much ours is below theirs: 1 − ours / theirs."""
    return one_minus(ratio(ours, theirs))


def extreme(tables: Sequence[pd.DataFrame], which: str) -> pd.DataFrame:
    """Enclosure of the least ("min") or largest ("max") of several, where all have a row."""
    ends = {
        end: pd.concat([table[end] for table in tables], axis="columns", join="inner")
        for end in ("low", "high")
    }
    return pd.DataFrame(
        {end: columns.agg(which, axis="columns", skipna=False) for end, columns in ends.items()}
    )


def measured(ends: pd.DataFrame, *also: str) -> pd.DataFrame:
    """The table of points that claims are judged by.

    Its columns are ``mechanism``, those of `also`, ``eps0`` (empty for protocols without), ``n``,
    ``detail`` (which comparison, where a grid has several at a point, else "") and ``low``,
    ``high``, which enclose the quantity.
    """
    points = ends.sort_index().reset_index()
    # Of a point without an enclosure nothing is known.
    points = points.fillna({"low": -np.inf, "high": np.inf})
    points["eps0"] = points["eps0"].where(points["eps0"] > 0.0)
    points["n"] = points["n"].astype(int)
    if "detail" not in points:
        points["detail"] = [_detail(point) for point in points.to_dict("records")]
    return points[["mechanism", *also, "eps0", "n", "detail", "low", "high"]]


def _detail(point: Mapping[str, Any]) -> str:
    """What else tells a point from others."""
    symbols = {"target": "ε′ = {:.3g}", "order": "λ = {:.4g}", "rounds": "T = {:.0f}"}
    symbols["messages"] = "m = {:.0f}"
    return ", ".join(text.format(point[key]) for key, text in symbols.items() if point.get(key))


def percentage(value: float, *, up: bool) -> str:
    """A share in per cent, three digits, rounded up or down (exactly: 0.07 is a bit above 7 %)."""
    if math.isinf(value):
        return "∞ %" if value > 0 else "−∞ %"
    context = Context(prec=3, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{context.multiply(Decimal(float(value)), 100):f} %".replace("-", "−")


def setting(point: pd.Series) -> str:
    """Where a point lies, in words."""
    detail = f", {point.detail}" if point.detail else ""
    return f"{_panel(point.mechanism, point.eps0)}, n = {point.n}{detail}"


def step(seconds: float) -> float:
    """Seconds rounded up to 1, 2 or 5 times a power of ten: run times do not repeat themselves."""
    decade = 10.0 ** math.floor(math.log10(seconds))
    return next(factor * decade for factor in (1, 2, 5, 10) if seconds <= factor * decade)


def _misses(points: pd.DataFrame, rule: Rule, panel: str) -> str:
    """In which panels points fail or are undecided, how many, and how badly."""
    panels = []
    for (mechanism, value), found in points.groupby(["mechanism", panel], dropna=False):
        undecided = found["open"].sum()
        fail = len(found) - found["holds"].sum() - undecided
        counts = [f"{fail} of {len(found)} points fail"] if fail else []
        counts += [f"{undecided} of {len(found)} are undecided"] if undecided else []
        if counts:
            worst = found["quoted"].max() if rule.wants_less else found["quoted"].min()
            listed = " and ".join(counts)
            named = _panel(mechanism, value) if panel == "eps0" else f"{mechanism}, {panel} {value}"
            panels.append(f"{named} ({listed}, worst {rule.percent(worst)})")
    return f"It does not hold throughout at {'; '.join(panels)}." if panels else ""


def _panel(mechanism: str, eps0: float) -> str:
    """Messages of a protocol may have no ε₀."""
    return mechanism if math.isnan(eps0) else f"{mechanism}, ε₀ = {eps0:g}"


def _times(times: pd.Series) -> str:
    slowest, median = (f"{step(value):g} s" for value in (times.max(), times.median()))
    return f"at most {slowest} for the slowest curve, at most {median} for the median"


# Claims: what a paper says, how it is measured on computed curves, and the verdict.
#
# A paper's own module lists its claims; the rules are above, the page below.


@dataclass(frozen=True)
class Evidence:
    """Curve tables one below the other, and the mechanisms behind their column ``mechanism``."""

    curves: pd.DataFrame
    mechanisms: Mapping[str, Any]


Judge: TypeAlias = (
    Callable[[Evidence], Judgement | None] | Callable[[pd.DataFrame], Judgement | None]
)


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, in our words.

    `judge` takes evidence, or run times (one row per curve) if `timed`; it returns None where there
    is nothing that it could compare, and is None where nothing can be measured.
    """

    name: str
    source: str
    words: str
    measure: str
    judge: Judge | None = None
    # Why ours differs, told where the claim is not reproduced in full; and what is told always.
    cause: str = ""
    note: str = ""
    timed: bool = False


def throughout(
    quantity: Callable[[Evidence], pd.DataFrame], rule: Rule, panel: str = "eps0"
) -> Callable[[Evidence], Judgement | None]:
    """The `judge` of a claim about every point of a quantity, by `judging.everywhere`."""
    return lambda evidence: everywhere(quantity(evidence), rule, panel)


def claims(package: str, judges: Mapping[str, Judge]) -> tuple[str, tuple[Claim, ...]]:
    """What claims.yaml of a package says first, and its claims with their `judges`, by name."""
    content = said(package)
    made = tuple(Claim(**one, judge=judges.get(one["name"])) for one in content["claims"])
    if unknown := judges.keys() - {claim.name for claim in made}:
        raise ValueError(f"judges must be of claims of {package}, got {', '.join(unknown)}")
    return content["introduction"], made


_FOUND = ("measured", "extreme", "holds_in")
COLUMNS = ("claim", "source", "words", "measure", *_FOUND, "verdict", "why")


def check(
    claims: Sequence[Claim],
    evidence: Mapping[str, Evidence],
    seconds: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """One row per claim, with the columns `COLUMNS`.

    Parameters
    ----------
    claims
        Of one paper.
    evidence
        For each claim that is to be measured on curves, the curves. Rows are chosen by what they
        hold, never by the names of experiments or curves; rows that a claim does not speak of are
        ignored. A claim that is left out is not measured.
    seconds
        One row per curve: ``bound`` and ``seconds``, the wall time of its job.

    """
    rows = []
    for claim in claims:
        data = seconds if claim.timed else evidence.get(claim.name)
        rows.append(_row(claim, claim.judge(data) if claim.judge and data is not None else None))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(claim: Claim, found: Judgement | None) -> dict[str, str]:
    words = {name: getattr(claim, name) for name in ("source", "words", "measure")}
    row = {"claim": claim.name, **words}
    if found is None:
        nothing = "Nothing that this measure compares is among the curves it was given."
        return row | dict.fromkeys(_FOUND, "") | {"verdict": NOT_MEASURED, "why": nothing}
    reasons = (found.why, "" if found.reproduced else claim.cause, claim.note)
    return row | {
        **{name: getattr(found, name) for name in (*_FOUND, "verdict")},
        "why": " ".join(filter(None, reasons)),
    }


# The claims as a page of Markdown.

RULES = """\
A *panel* is one mechanism in one regime (at one ε₀, say), a *point* one value along its axis (or
one comparison at that value). Certified ε are enclosures: a point counts for a claim only where the
whole enclosures say so, against it only where the whole enclosures do, and is undecided where they
overlap. A percentage is that of the less favourable end, rounded against the claim. A claim about
every setting is *reproduced* if it holds at every point, *reproduced in part* if it holds at every
point of some panel, else *not reproduced*.
"""

# So many different values of a setting are told one by one.
_MANY = 6

HEADER = ("claim", "the paper says", "where", "verdict", "measured")


def text(introduction: str, judged: pd.DataFrame, evidence: Mapping[str, Evidence]) -> str:
    """The page of claims: who claims, the run, the rules, a summary and a paragraph each.

    `judged` is what `claims.check` returns for `evidence`.
    """
    summary = [
        (
            f"[{row.claim}](#{row.claim})",
            row.words,
            row.source,
            f"{MARKS[row.verdict]}\N{NO-BREAK SPACE}**{row.verdict}**",
            row.measured or "—",
        )
        for row in judged.itertuples()
    ]
    paragraphs = (f"\n## {row.claim}\n\n{_paragraph(row)}\n" for row in judged.itertuples())
    parts = [
        "# The paper's claims, measured\n",
        f"{introduction.strip()} This page is generated from the curves of this repository.\n",
        f"{_run(evidence)}\n",
        RULES,
        markdown_table(HEADER, summary),
    ]
    return "\n".join(parts) + "".join(paragraphs)


def _paragraph(row: Any) -> str:
    measured = [f"Measured: {row.measured}.", f"Holds in {row.holds_in}."] if row.measured else []
    extreme = [f"{row.extreme[0].upper()}{row.extreme[1:]}."] if row.extreme else []
    sentences = [
        f"{row.words} ({row.source}.) **{row.verdict[0].upper()}{row.verdict[1:]}.**",
        f"Measure: {row.measure}",
        *measured,
        *extreme,
        row.why,
    ]
    return " ".join(filter(None, sentences))


def _run(evidence: Mapping[str, Evidence]) -> str:
    """δ, ε₀, the grid of n and the version of the library."""
    frames = [shown.curves for shown in evidence.values() if not shown.curves.empty]
    if not frames:
        return "No curves were given."
    every = pd.concat(frames)
    n = sorted(every["n"].dropna().unique())
    users = (
        f"{len(n)} numbers of users from {n[0]:.0f} to {n[-1]:.0f}" if n[1:] else f"{n[0]} users"
    )
    return (
        f"This run: δ = {_listed(every['delta'])}; ε₀ = {_listed(every['eps0'])}; {users}; "
        f"shufflebounds {', '.join(sorted(every['version'].unique()))}."
    )


def _listed(values: pd.Series) -> str:
    """All of them, or how many from where to where; messages of a protocol may have no ε₀."""
    found = sorted(values.dropna().unique())
    if len(found) > _MANY:
        return f"{len(found)} values from {found[0]:.3g} to {found[-1]:.3g}"
    return ", ".join(f"{value:g}" for value in found) or "none"
