"""Claims: what is measured, when it counts as reproduced, and the page that says so."""

import inspect
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from repository import ROOT

from reproduction import readings
from reproduction.papers import claims_page, judging
from reproduction.papers.base import research
from reproduction.papers.judging import Condition, claim_of
from reproduction.papers.points import Evidence
from reproduction.papers.su2026.claims import round_time_up
from shufflebounds.randomizers.description import parse

INTRODUCTION, CLAIMS = research("su2026").load_claims()
REPRODUCED, IN_PART = "reproduced", "reproduced in part"
NOT_REPRODUCED, NOT_MEASURED = "not reproduced", "not measured"

KRR, BLH = {"type": "krr", "k": 10}, {"type": "blh"}
NESTED = {
    "type": "joint",
    "parts": [
        {"mechanism": {"type": "krr", "k": 3}},
        {
            "mechanism": {
                "type": "parallel",
                "parts": [
                    {"mechanism": BLH, "weight": 0.5},
                    {"mechanism": {"type": "oue"}, "weight": 0.5},
                ],
            }
        },
    ],
}


def mix(first, second, weight=0.5, **share):
    return {
        "type": "parallel",
        "parts": [
            {"mechanism": first, "weight": weight},
            {"mechanism": second, "weight": 1.0 - weight, **share},
        ],
    }


DESCRIBED = [
    KRR,
    BLH,
    {"type": "laplace"},
    {"type": "subsample", "mechanism": KRR, "rate": 0.5},
    mix(KRR, BLH),
    mix(KRR, BLH, share=0.5),
    NESTED,
    mix(NESTED, BLH, 0.25),
    *({"type": "rappor", "domain_size": size} for size in (3, 5, 10, 20)),
    {"type": "rappor"},
    {"type": "oue"},
]
MECHANISMS = {str(parse(one)): parse(one) for one in DESCRIBED}

BASELINES = ("blanket_hoeffding", "blanket_bennett", "clone")
GRID = (1000, 10_000, 100_000)


def curve(bound, eps, mechanism="krr(k=10)", eps0=4.0, k=1, distance=None, width=0.0):
    """A curve of enclosures that begin at these values, one for each n or the same for all."""
    lower = np.broadcast_to(np.asarray(eps, dtype=float), (len(GRID),))
    return pd.DataFrame(
        {
            "experiment": "any",
            "regime": "any",
            "curve": "any",
            "mechanism": mechanism,
            "k_joint": k,
            "distance": pd.array([distance] * len(GRID), dtype="Int64"),
            "bound": bound,
            "n": GRID,
            "eps0": eps0,
            "delta": 1e-6,
            "epsilon_lower": lower,
            "epsilon_upper": lower + width,
            "version": "1.2.3",
        }
    )


def panel(upper, hoeffding=4.0, bennett=4.0, clone=4.0, **setting):
    values = {"blanket": upper, **dict(zip(BASELINES, (hoeffding, bennett, clone), strict=True))}
    return pd.concat([curve(bound, eps, **setting) for bound, eps in values.items()])


def times(**seconds):
    rows = [(bound, value) for bound, values in seconds.items() for value in values]
    frame = pd.DataFrame(rows, columns=["bound", "seconds"])
    return frame.assign(experiment="any", regime="any", curve="any", k_joint=1)


def evidence(*frames):
    """Curves, with the mechanisms that their texts stand for."""
    return Evidence(pd.concat(frames), MECHANISMS)


def check(curves, seconds=None):
    """The claims of the paper, judged on tables of curves by claim."""
    return judging.check(CLAIMS, {name: evidence(frame) for name, frame in curves.items()}, seconds)


def row(claim, *frames, seconds=None):
    table = check({claim: pd.concat(frames)} if frames else {}, seconds)
    return table.set_index("claim").loc[claim]


def verdict(claim, *frames, seconds=None):
    return row(claim, *frames, seconds=seconds)["verdict"]


# Below every baseline.


def test_a_claim_that_holds_in_one_panel_of_two_is_reproduced_in_part():
    found = row(
        "improvement",
        panel([0.8, 0.5, 0.7], clone=1.0),
        panel([0.8, 0.8, 0.96], clone=1.0, mechanism="laplace", eps0=0.1),
    )
    assert found["verdict"] == IN_PART
    assert found["holds_in"] == "1 of 2 panels, 5 of 6 points"
    assert "worst: laplace, ε₀ = 0.1, n = 100000" in found["extreme"]
    assert "best: krr(k=10), ε₀ = 4, n = 10000" in found["extreme"]
    assert "worst 4.00 %" in found["measured"]
    assert "laplace, ε₀ = 0.1 (1 of 3 points fail" in found["why"]
    assert "krr" not in found["why"].split(".")[0]


def test_other_bounds_and_joint_reports_are_no_part_of_the_comparison():
    tempting = [
        curve("erlingsson", 0.1),
        curve("blanket", 2.0, k=2),
        curve("clone", 0.1, mechanism="oue"),
        curve("clone", 0.1, eps0=0.1),
    ]
    assert verdict("improvement", panel(0.8, clone=1.0), *tempting) == REPRODUCED


@pytest.mark.parametrize("missing", ["blanket", *BASELINES])
def test_without_one_of_its_curves_a_claim_is_not_measured(missing):
    whole = panel(0.8, clone=1.0)
    assert verdict("outperforms", whole[whole["bound"] != missing]) == NOT_MEASURED


def test_only_common_numbers_of_users_are_compared():
    whole = panel([0.8, 0.8, 0.99], clone=1.0)
    short = whole[(whole["bound"] != "clone") | (whole["n"] < GRID[2])]
    short.loc[short["bound"].ne("clone") & short["n"].eq(GRID[2]), "epsilon_upper"] = 9.0
    assert verdict("improvement", short) == REPRODUCED
    assert row("improvement", short)["holds_in"] == "1 of 1 panels, 2 of 2 points"


def test_overlapping_enclosures_decide_nothing():
    """ε is 0.999 to 1.001 against exactly 1: neither below nor not below."""
    open_case = panel([0.5, 0.5, 0.999], clone=1.0)
    open_case.loc[open_case["epsilon_lower"] == 0.999, "epsilon_upper"] = 1.001
    found = row("outperforms", open_case)
    assert found["verdict"] == NOT_REPRODUCED
    assert found["holds_in"] == "0 of 1 panels, 2 of 3 points"
    assert "1 of 3 are undecided" in found["why"]
    assert "fail" not in found["why"]


def test_a_claim_counts_by_the_unfavourable_ends():
    """0.85 to 0.91 of a clone of 1: the value plotted, 0.91, is not 10 % below."""
    assert verdict("improvement", panel(0.85, clone=1.0, width=0.0)) == REPRODUCED
    assert verdict("improvement", panel(0.85, clone=1.0, width=0.06)) == NOT_REPRODUCED


# Upper and lower bounds.


def pair(upper, lower, **setting):
    return pd.concat([curve("blanket", upper, **setting), curve("lower", lower, **setting)])


def test_gaps_are_rounded_up_and_margins_down():
    assert "worst 1.24 %" in row("tightness", pair(1.01231, 1.0))["measured"]
    assert "worst 12.3 %" in row("improvement", panel(0.87605, clone=1.0))["measured"]


# Joint compositions.


def joint(*values, **setting):
    """Curves for one, two and four joint reports."""
    return pd.concat(
        [curve("blanket", eps, k=k, **setting) for k, eps in zip((1, 2, 4), values, strict=False)]
    )


def test_a_step_of_k_is_named():
    found = row("joint", joint([1.0, 1.0, 1.0], [0.7, 0.7, 0.7], [0.5, 0.5, 0.6]))
    assert "worst: krr(k=10), ε₀ = 4, n = 100000, from k = 2 to 4" in found["extreme"]
    assert found["holds_in"].endswith("6 of 6 points")


def at_distances(*values, k=None, **setting):
    k = k or len(values)
    return pd.concat(
        [curve("blanket", eps, k=k, distance=d, **setting) for d, eps in enumerate(values, start=1)]
    )


# Parallel compositions.

MIX = "parallel(0.5 krr(k=10), 0.5 blh)"


def parallel(middle, first, second, eps0=4.0, mechanism=MIX):
    values = {mechanism: middle, "krr(k=10)": first, "blh": second}
    return pd.concat([curve("blanket", e, mechanism=m, eps0=eps0) for m, e in values.items()])


# Finite domains.


def rappor(**values):
    """``d5=…`` is the curve for D = 5, ``unbounded=…`` that for D → ∞."""
    names = {key: f"rappor(domain_size={key[1:]})" for key in values} | {"unbounded": "rappor"}
    return [curve("blanket", eps, mechanism=names[key]) for key, eps in values.items()]


# What each claim says of some curves.

SAMPLED = "subsample(0.5 krr(k=10))"
NESTED_PART = "joint(krr(k=3), parallel(0.5 blh, 0.5 oue))"
LESS = "parallel(0.5 krr(k=10), 0.5 blh at 0.5 eps0)"
WHOLE_MIX = parallel(0.8, 1.0, 0.5)
VERDICTS = {
    "improvement": [
        ([panel(0.89, clone=1.0)], REPRODUCED),
        # Over the least baseline, at every point.
        ([panel(0.95, clone=1.0)], NOT_REPRODUCED),
        ([panel(0.95, bennett=1.0)], NOT_REPRODUCED),
        ([panel(0.95, hoeffding=1.0)], NOT_REPRODUCED),
        ([panel([0.8, 0.8, 0.95], clone=1.0)], NOT_REPRODUCED),
    ],
    "outperforms": [
        ([panel(0.999, clone=1.0)], REPRODUCED),
        ([panel(1.0, clone=1.0)], NOT_REPRODUCED),
        ([panel(1.1, clone=1.0)], NOT_REPRODUCED),
    ],
    "clone_vs_bennett": [
        ([panel(0.1, bennett=0.9, clone=1.0)], REPRODUCED),
        ([panel(0.1, bennett=1.1, clone=1.0)], NOT_REPRODUCED),
    ],
    # It must lie at large ε₀ and small n.
    "improvement_peak": [
        ([panel([0.5, 0.9, 0.9], clone=1.0)], REPRODUCED),
        ([panel([0.56, 0.9, 0.9], clone=1.0)], NOT_REPRODUCED),
        ([panel([0.9, 0.9, 0.5], clone=1.0)], NOT_REPRODUCED),
        ([panel([0.5, 0.9, 0.9], clone=1.0, eps0=0.1)], NOT_MEASURED),
    ],
    "tightness": [
        ([pair(1.04, 1.0)], REPRODUCED),
        ([pair(1.055, 1.0)], NOT_REPRODUCED),
        ([pair(1.04, 1.0), pair(1.9, 1.0, mechanism="blh")], IN_PART),
        ([curve("blanket", 1.0)], NOT_MEASURED),
        # Of several lower bounds the best counts.
        ([pair(1.04, 0.5), curve("lower", 1.0)], REPRODUCED),
    ],
    # Of subsampled mechanisms alone.
    "subsampling": [
        ([pair(1.01, 1.0, mechanism=SAMPLED), pair(2.0, 1.0)], REPRODUCED),
        ([pair(1.1, 1.0, mechanism=SAMPLED), pair(1.0, 1.0)], NOT_REPRODUCED),
        ([pair(1.0, 1.0)], NOT_MEASURED),
    ],
    # At every step of k, and of several distances the worst.
    "joint": [
        ([joint(1.0, 0.7, 0.5)], REPRODUCED),
        ([joint(1.0, 1.1, 0.5)], NOT_REPRODUCED),
        ([joint(1.0, 0.7, 0.8)], NOT_REPRODUCED),
        ([joint(1.0, 1.1, 0.5), joint(1.0, 0.5, mechanism="blh")], IN_PART),
        ([joint(1.0)], NOT_MEASURED),
        (
            [joint(1.0), *(curve("blanket", 0.5 * d * d, k=2, distance=d) for d in (1, 2))],
            NOT_REPRODUCED,
        ),
    ],
    "hamming": [
        ([at_distances(0.5, 0.8, 0.9, 1.0)], REPRODUCED),
        ([at_distances(0.5, 1.1, 0.9, 1.0)], NOT_REPRODUCED),
        ([at_distances(0.5, 0.8, 1.0, 1.0)], NOT_REPRODUCED),
        ([at_distances(0.5, 0.8, 0.9, 1.0), at_distances(0.5, 1.1, 1.0, eps0=0.1)], IN_PART),
        ([at_distances(0.5, 0.8, 0.9, k=4)], NOT_MEASURED),
        ([curve("blanket", 1.0, distance=1)], NOT_MEASURED),
    ],
    # A part with less of ε₀ is another mechanism: its curve is not the part's at all of it.
    "parallel": [
        ([WHOLE_MIX], REPRODUCED),
        ([parallel(0.8, 0.5, 1.0)], REPRODUCED),
        ([parallel(1.1, 0.5, 1.0)], NOT_REPRODUCED),
        ([parallel(0.4, 0.5, 1.0)], NOT_REPRODUCED),
        ([WHOLE_MIX, parallel(1.1, 1.0, 0.5, eps0=0.1)], IN_PART),
        ([WHOLE_MIX[WHOLE_MIX["mechanism"] != "blh"]], NOT_MEASURED),
        ([WHOLE_MIX[WHOLE_MIX["mechanism"] != MIX]], NOT_MEASURED),
        ([parallel(0.8, 1.0, 0.5, mechanism=LESS)], NOT_MEASURED),
        (
            [
                curve("blanket", 0.8, mechanism=f"parallel(0.25 {NESTED_PART}, 0.75 blh)"),
                curve("blanket", 1.0, mechanism=NESTED_PART),
                curve("blanket", 0.5, mechanism="blh"),
            ],
            REPRODUCED,
        ),
    ],
    # Domains from five on, within one per cent.
    "rappor_domain": [
        (rappor(d5=0.992, d20=1.0, unbounded=1.0), REPRODUCED),
        (rappor(d5=1.02, unbounded=1.0), NOT_REPRODUCED),
        (rappor(d5=0.98, unbounded=1.0), NOT_REPRODUCED),
        (rappor(d5=0.9, d10=1.0, unbounded=1.0), IN_PART),
        (rappor(d3=0.5, d5=1.0, unbounded=1.0), REPRODUCED),
        (rappor(d3=0.5, unbounded=1.0), NOT_MEASURED),
        (rappor(d5=1.0, d20=1.0), NOT_MEASURED),
    ],
}


@pytest.mark.parametrize("claim", VERDICTS)
def test_a_claim_holds_where_it_says(claim):
    for frames, expected in VERDICTS[claim]:
        assert verdict(claim, *frames) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ({"blanket": [2, 30], "lower": [99]}, REPRODUCED),
        ({"blanket": [2, 3, 31]}, IN_PART),
        ({"blanket": [2, 31, 32]}, NOT_REPRODUCED),
        ({"clone": [1]}, NOT_MEASURED),
    ],
)
def test_a_curve_is_quick_up_to_thirty_seconds(seconds, expected):
    assert verdict("seconds_curve", seconds=times(**seconds)) == expected


# The largest value of a quantity.


def test_the_largest_value_decides_and_what_was_not_computed_does_not_count():
    points = pd.DataFrame(
        {"mechanism": "blh", "eps0": [1.0, 1.0, 2.0, 2.0], "n": 10, "detail": ""}
    ).assign(low=[0.3, 0.2, -math.inf, 0.05], high=[0.3, 0.2, math.inf, 0.05])
    found = Condition("reaches", 0.2).judge(points)
    assert found.verdict == REPRODUCED
    assert found.measured.startswith("up to 29.9 %,")  # 0.3 is a bit below
    assert found.holds_in == "1 of 2 panels"
    assert "ε₀ = 1" in found.extreme
    assert Condition("reaches", 0.31).judge(points).verdict == NOT_REPRODUCED
    assert Condition("reaches", 0.2).judge(points[points["low"] == -math.inf]) is None


# Run times.


@settings(deadline=None)
@given(st.integers(1, 10**8))
@example(20)
@example(100)
@example(100_000)
def test_a_step_is_the_least_of_its_kind_not_below(hundredths):
    steps = [factor * 10**power for power in range(9) for factor in (1, 2, 5)]
    least = min(step for step in steps if step >= hundredths)
    assert round_time_up(hundredths / 100) == pytest.approx(least / 100, rel=1e-12)


# Numbers in words.


@settings(deadline=None)
@given(st.floats(-1e3, 1e3))
@example(0.07)
@example(-0.07)
@example(0.0)
def test_a_percentage_is_on_the_side_asked_for_and_close(value):
    down, up = (
        float(judging.percentage(value, up=up).removesuffix(" %").replace("−", "-"))
        for up in (False, True)
    )
    assert down <= value * 100.0 * (1 + 1e-15 * np.sign(value)) + 1e-300
    assert up >= value * 100.0 * (1 - 1e-15 * np.sign(value)) - 1e-300
    assert up - down <= 0.011 * abs(value) * 100.0


def test_an_epsilon_of_zero_is_no_division_by_zero():
    assert verdict("tightness", pair(1.0, 0.0)) == NOT_REPRODUCED
    assert "∞ %" in row("tightness", pair(1.0, 0.0))["measured"]
    assert verdict("outperforms", panel(1.0, clone=0.0)) == NOT_REPRODUCED


# Files.


# Claims about points that no curve shows.
COMPUTED = ("uniform_others", "four_point_clone", "strictly_tighter", "laplace_interval")


def test_an_empty_frame_is_not_measured():
    of_curves = [
        claim.name
        for claim in CLAIMS
        if not claim.timed and (claim.compare or claim.condition) and claim.name not in COMPUTED
    ]
    assert len(of_curves) == 13
    table = check({name: panel(0.8).iloc[:0] for name in of_curves})
    assert (table["verdict"] == NOT_MEASURED).all()


@pytest.mark.parametrize("paper", ["su2026", "wang2020", "wang2024", "wang2025", "girgis2021"])
def test_every_claim_has_a_judge_or_says_that_it_has_no_measure(paper):
    introduction, claims = research(paper).load_claims()
    assert introduction
    assert research(paper).claims == tuple(claim.name for claim in claims if not claim.timed)
    for claim in claims:
        has_measure = claim.compare is not None or claim.function is not None
        assert has_measure != claim.measure.startswith("None: ")
        if claim.function is not None:
            (data,) = inspect.signature(claim.function).parameters.values()
            assert data.annotation == ("pd.DataFrame" if claim.timed else "Evidence")


TWO = {kind: {"bound": "upper", "others": ["clone"]} for kind in ("saves", "exceeds")}


@pytest.mark.parametrize("fields", [{}, {"measure": "ε."}, TWO])
def test_a_claim_without_one_measure_is_refused(fields):
    entry = {"name": "nothing", "source": "", "words": "", **fields}
    with pytest.raises(ValueError, match="claim nothing must have one measure or say why"):
        claim_of(entry, "eps0", None)


def page(curves, seconds=None):
    shown = {name: evidence(frame) for name, frame in curves.items()}
    judged = judging.check(CLAIMS, shown, seconds)
    return claims_page.text("Su, Cheng and Wang 2026", INTRODUCTION, judged, shown)


def test_the_page_and_the_table_have_every_claim():
    curves = {"improvement": panel(0.8, clone=1.0), "hamming": at_distances(0.5, 1.0)}
    seconds = times(upper=[1.5], clone=[1.5])
    table, text = check(curves, seconds), page(curves, seconds)
    assert tuple(table.columns) == judging.COLUMNS
    assert len(table) == len(CLAIMS)
    assert table["claim"].is_unique
    lines = text.splitlines()
    cells = [line for line in lines if line.startswith("|")]
    assert len(cells) == 2 * 2 + len(table)
    assert {line.count("|") for line in cells} == {4}
    for found in table.itertuples():
        mark = "" if found.is_ours else f"{claims_page.MARKS[found.verdict]}\N{NO-BREAK SPACE}"
        verdict = f"{mark}**{found.verdict}**"
        # The verdict comes first, where a narrow window cannot cut it.
        assert f"| {verdict} | [{found.claim}](#{found.claim}) | {found.words} |" in cells
        section = text.split(f"\n## {found.claim}\n")[1].split("\n## ")[0]
        assert all(
            part in section for part in (found.source, found.measure, found.measured, found.why)
        )
    assert "δ = 1e-06; ε₀ = 4; 3 numbers of users from 1000 to 100000" in text
    assert "shufflebounds 1.2.3" in text


def added(low):
    """A claim of ours of one point, judged, and the page that shows it."""
    entry = {"name": "extra", "source": "ours", "words": "More.", "is_ours": True, "above": 0}
    points = pd.DataFrame({"mechanism": "m", "eps0": 1.0, "n": 1, "detail": "", "low": [low]})
    ours = claim_of(entry, "eps0", lambda _: points.assign(high=low))
    shown = {claim: evidence(panel(0.8)) for claim in ("improvement", "extra")}
    judged = judging.check([CLAIMS[0], ours], shown)
    return judged.set_index("claim")["verdict"], claims_page.text("A", "B.", judged, shown)


@pytest.mark.parametrize(("low", "expected"), [(1.0, "holds"), (-1.0, "does not hold")])
def test_what_we_add_has_a_table_of_its_own_and_no_mark(low, expected):
    verdicts, text = added(low)
    assert verdicts["extra"] == expected
    assert verdicts["improvement"] == REPRODUCED
    said, ours = text.split(claims_page.OURS)
    assert f"| {' | '.join(claims_page.HEADER)} |" in said
    assert "extra" not in said
    table = ours.split("\n## ")[0]
    assert f"| **{expected}** | [extra](#extra) | More. |" in table
    assert "improvement" not in table
    assert not set("✓◐✗–") & set(table)


def test_a_page_without_what_we_add_has_one_table():
    judged = judging.check(CLAIMS[:1], {})
    text = claims_page.text("A", "B.", judged, {})
    assert claims_page.OURS not in text
    assert text.count("| --- | --- | --- |") == 1


def test_a_claim_that_no_figure_shows_has_no_curves():
    """Measures without curves ignore them, and one on curves has nothing to compare."""
    paper = SimpleNamespace(curves={}, claims={"improvement": (), "gparv_range": ()})
    shown = readings.evidence(paper, {})
    judged = judging.check(CLAIMS, shown).set_index("claim")["verdict"]
    assert judged["improvement"] == NOT_MEASURED
    assert judged["gparv_range"] == REPRODUCED


def test_equal_input_gives_equal_pages_whatever_the_order_of_rows():
    curves = {"improvement": pd.concat([panel(0.8), panel(0.9, mechanism="blh", eps0=0.1)])}
    shuffled = {"improvement": curves["improvement"].sample(frac=1.0, random_state=0)}
    assert page(curves) == page(shuffled)
    pd.testing.assert_frame_equal(check(curves), check(shuffled))


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("claims*.md")))
def test_the_pages_in_docs_begin_with_the_rules_and_the_verdicts(page):
    text = page.read_text(encoding="utf-8")
    assert claims_page.RULES in text
    assert f"| {' | '.join(claims_page.HEADER)} |" in text


def test_the_page_in_docs_is_of_these_claims():
    text = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    for claim in CLAIMS:
        assert f"| [{claim.name}](#{claim.name}) | {claim.words} |" in text
        assert f"Measure: {claim.measure}" in text
    assert text.count(f"**{NOT_MEASURED}**") == 1  # of a program that is not run
