"""The paper's claims: each is judged by its rule, on curves made up for it."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from reproduction.papers.base import research
from reproduction.papers.judging import IN_PART, NOT_MEASURED, NOT_REPRODUCED, REPRODUCED, check
from reproduction.papers.points import Evidence
from reproduction.papers.wang2024 import claims, general_pair
from shufflebounds.bounds.variation_ratio import PUBLISHED, variation_ratio
from shufflebounds.core.setting import Setting
from shufflebounds.protocols import registry
from shufflebounds.questions.answers import epsilon

CLAIMS = {claim.name: claim for claim in research("wang2024").load_claims()[1]}
DESCRIBED = [
    {"type": "krr", "k": 10},
    {"type": "subset", "domain_size": 16},
    {"type": "local_hash", "domain_size": 16},
    {"type": "cheu_zhilyaev_designed"},
    {"type": "hierarchical_histogram", "domain_size": 64},
    {"type": "separate_histograms", "domain_size": 64, "nodes": 2},
    {"type": "separate_histograms", "domain_size": 64, "nodes": 64},
    {"type": "separate_histograms", "domain_size": 128, "nodes": 2},
    {"type": "subsample", "mechanism": {"type": "krr", "k": 64}, "rate": 1.0 / 6.0},
]
MECHANISMS = {str(one.mechanism): one.mechanism for one in map(registry.parse_sent, DESCRIBED)}
KRR, SUBSET, HASH, FAKE, LEVELS, WORST, BEST, OTHER, LAST = MECHANISMS
GRID = (0.5, 1.0, 2.0)


def curve(mechanism, bound, eps, regime="n4", n=10_000, x="eps0", width=0.0):
    lower = np.broadcast_to(np.asarray(eps, dtype=float), (len(GRID),))
    along = {"eps0": np.nan, "target": np.nan, x: GRID}
    return pd.DataFrame(
        {
            "experiment": "any",
            "regime": regime,
            "curve": "any",
            "mechanism": mechanism,
            "k_joint": 1,
            "distance": pd.array([None] * len(GRID), dtype="Int64"),
            "bound": bound,
            "n": n,
            "delta": 0.01 / n,
            "epsilon_lower": lower,
            "epsilon_upper": lower * (1.0 + width),
            "version": "0",
            **along,
        }
    )


def judged(claim, *curves):
    return check([CLAIMS[claim]], {claim: Evidence(pd.concat(curves), MECHANISMS)}).iloc[0]


def verdict(claim, *curves):
    return judged(claim, *curves)["verdict"]


def designed(bound, eps, **more):
    return curve(FAKE, bound, eps, x="target", **more)


def test_one_dataset_above_it_refutes_an_upper_bound():
    published = [curve(name, "variation_ratio_published", 0.3) for name in (KRR, SUBSET)]
    below = curve(SUBSET, "lower", 0.29)
    assert verdict("upper_bound", *published, below, curve(KRR, "lower", 0.3)) == REPRODUCED
    above = curve(KRR, "lower", [0.2, 0.2, 0.31])
    assert verdict("upper_bound", *published, below, above) == NOT_REPRODUCED


@pytest.mark.parametrize(
    ("eps", "savings", "largest"),
    [
        (0.7, REPRODUCED, REPRODUCED),
        ([0.7, 0.8, 0.8], NOT_REPRODUCED, REPRODUCED),
        (0.8, NOT_REPRODUCED, NOT_REPRODUCED),
    ],
)
def test_savings_of_one_message_are_over_the_least_baseline(eps, savings, largest):
    shown = [
        curve(SUBSET, "variation_ratio", eps),
        curve(SUBSET, "stronger_clone", [1.0, 1.2, 1.2]),
        curve(SUBSET, "blanket_best_similarity", [1.5, 1.0, 1.0]),
        curve(SUBSET, "blanket_best", 0.8),
        *(curve(SUBSET, name, 9.0) for name in ("erlingsson", "blanket_best_generic", "clone")),
    ]
    assert verdict("single_savings", *shown) == savings
    assert verdict("single_peak", *shown) == largest


def test_savings_of_several_messages_are_over_the_target():
    """ε′ is 0.5, 1 and 2; where there is no protocol there is no point."""
    nothing = designed("original", [np.nan, 1.0, 2.0])
    for bound, claim in (
        ("blanket", "multi_savings"),
        ("variation_ratio_analytic", "analytic_savings"),
    ):
        share = 0.29 if claim == "multi_savings" else 0.49
        holds = designed(bound, [np.nan, share, 2 * share])
        assert verdict(claim, nothing, holds) == REPRODUCED
        fails = designed(bound, [np.nan, share, 2.2 * share])
        assert verdict(claim, nothing, fails) == NOT_REPRODUCED
        # The same point without an enclosure, where there is a protocol.
        open_point = judged(claim, designed("original", [0.5, 1.0, 2.0]), holds)
        assert open_point["verdict"] == NOT_REPRODUCED
        assert "undecided" in open_point["why"]
    worse = designed("variation_ratio_asymptotic", [np.nan, 0.9, 2.1])
    assert verdict("asymptotic_savings", nothing, worse) == NOT_REPRODUCED


def test_parallel_composition_against_both_others():
    levels = [curve(LEVELS, "variation_ratio", 0.1), curve(LEVELS, "stronger_clone", 0.35)]
    assert verdict("parallel_basic", *levels) == REPRODUCED
    apart = [curve(WORST, "blanket", 1.0), curve(BEST, "blanket", 0.6)]
    assert verdict("parallel_separate", *levels, *apart) == REPRODUCED
    # Those of another domain do not count.
    other = curve(OTHER, "blanket", 0.05)
    assert verdict("parallel_separate", *levels, *apart, other) == REPRODUCED
    found = judged("parallel_separate", *levels, apart[0], curve(BEST, "blanket", 0.05))
    assert found["verdict"] == NOT_REPRODUCED
    assert "against the level of 64 nodes" in found["extreme"]
    assert verdict("parallel_separate", *apart) == NOT_MEASURED


def test_savings_of_the_released_program_are_over_all_levels_and_over_the_best():
    basic = [curve(LEVELS, "stronger_clone", 1.0), curve(LEVELS, "variation_ratio_published", 0.9)]
    program = curve(LAST, "variation_ratio_published", 0.2)
    assert verdict("parallel_basic_released", *basic, program) == REPRODUCED
    assert verdict("parallel_basic_released", *basic) == NOT_MEASURED
    apart = [
        curve(WORST, "blanket", 0.3),
        curve(BEST, "blanket", 1.1),
        curve(OTHER, "blanket", 0.3),
    ]
    found = judged("parallel_separate_released", *apart, program)
    assert (found["verdict"], found["holds_in"]) == (REPRODUCED, "1 of 1 panels, 3 of 3 points")
    less = curve(LAST, "variation_ratio_published", [0.2, 0.2, 0.4])
    assert verdict("parallel_basic_released", *basic, less) == NOT_REPRODUCED
    assert verdict("parallel_separate_released", *apart, less) == NOT_REPRODUCED


@pytest.mark.parametrize("eps0", [0.5, 5.0])
def test_a_report_on_the_last_level_only_has_the_pair_of_the_released_program(eps0):
    """The paper's own sum (Theorem 4.8), at the β that is left after all others are overwritten."""
    e, levels, n, delta = math.exp(eps0), 6, 10_000, 1e-6
    overwritten = 0.0
    for level in range(levels):
        overwritten = (e - 1.0) / (e + 2 ** (level + 1) - 1.0) / levels
    reports = registry.parse_sent(DESCRIBED[-1])
    at = Setting(eps0=eps0, n=n, delta=delta)
    [answer] = PUBLISHED.answers(reports.protocol(at), "epsilon", [at])
    summed = general_pair.summed_delta(e, overwritten, e, answer.enclosure.upper, n)
    assert summed == pytest.approx(delta, rel=0.01)


def test_the_rate_is_that_of_a_normal_law():
    """For many users the difference of both counts is nearly normal, and so is the loss."""
    p, q, n, delta = 1e5, 1e3, 10**8, claims.DELTA
    beta = (p - 1.0) / (p + 1.0)
    deviation = math.sqrt(2.0 * beta * (p - 1.0) * q / (p * n))
    z = optimize.brentq(
        lambda z: deviation * (stats.norm.pdf(z) - z * stats.norm.sf(z)) - delta, 0.0, 9.0
    )
    pair = variation_ratio(p, beta, q, published=True)
    eps = epsilon(pair, n, delta).upper
    assert eps == pytest.approx(z * deviation, rel=0.02)
    # No δ has a larger quotient.
    assert z * deviation < 2.0 * math.sqrt(beta * (p - 1.0) * q * -math.log(delta) / (p * n))
    assert CLAIMS["rate"].judge(None).verdict == REPRODUCED


def test_claims_of_formulas_have_the_numbers_of_their_closed_forms():
    found = CLAIMS["metric_dependence"].judge(None)
    assert found.verdict == REPRODUCED
    # e^d₀₁ = e: farther inputs on the line of both, and as far from either.
    assert f"{(1 - 1 / math.e) / 2:.2g} to {math.tanh(0.5):.2g} times" in found.measured
    found = CLAIMS["larger_variation"].judge(None)
    assert found.verdict == REPRODUCED
    betas = [math.tanh(eps0 / 2.0) / math.tanh(eps0 / 4.0) for eps0 in claims.LEVELS]
    assert f"β is {min(betas):.2g} to {max(betas):.2g} times" in found.measured
    # The variance of a bit that is kept with odds e^x is 1/(4 sinh²(x/2)).
    errors = [(math.sinh(eps0 / 4.0) / math.sinh(eps0 / 2.0)) ** 2 for eps0 in claims.LEVELS]
    assert f"the error is {min(errors):.2g} to {max(errors):.2g} times" in found.measured


def test_tightness_is_that_of_the_masses():
    """k-RR's three groups by hand; two sets of two out of five values overlap."""
    e = np.exp(2.0)
    expected = np.array([[e, 1.0], [1.0, e], [1.0, 1.0]]) / (e + 4.0)
    published, pair = claims.tight_cases()["GRR (d = 5)"][2]
    for one in (published, pair):
        assert claims.group_masses(one) == pytest.approx(expected, rel=1e-12)
    found = judged("tight", curve(KRR, "lower", 0.1))
    assert found["verdict"] == IN_PART
    assert found["measured"].endswith(
        "different: 2-subset (d = 5), local hash (l = 4, random), PrivUnit (cap 1/2)"
    )


@pytest.mark.parametrize(
    ("cap", "directions", "overlap", "is_equal"),
    [(0.3, (0, 400, 800), 0.0, True), (0.5, (0, 600, 300), 0.25, False)],
)
def test_caps_are_those_of_arcs_on_a_circle(cap, directions, overlap, is_equal):
    """1200 points of a circle, e^ε₀ times as dense in the arc of each of three directions."""
    eps0 = 1.0
    places = np.arange(1200)
    rows = []
    for direction in directions:
        weights = np.where((places - direction) % 1200 < cap * 1200, np.e**eps0, 1.0)
        rows.append(weights / weights.sum())
    first, second, third = rows
    masses = [
        [row[side].sum() for side in (first > second, first < second)]
        for row in (first, second, third)
    ]
    pair = claims.cap_pair(eps0, cap, overlap)
    assert claims.group_masses(pair) == pytest.approx(np.array(masses), rel=1e-12)
    # Theorem 4.7 has the quotient p = e^ε₀ of a and c where they are equal.
    quotients = [np.divide(masses[0][0], masses[2][0]), np.divide(masses[1][1], masses[2][1])]
    assert (quotients == pytest.approx([np.e, np.e])) is is_equal


def test_the_groups_of_laplace_noise_are_those_of_its_best_third_input():
    """Half of the reports from x* = 1/2 lie above 1/2, the median of the noise around it."""
    noise = stats.laplace(scale=1.0 / 2.0)
    above = {x: noise.sf(0.5 - x) for x in np.linspace(0.0, 1.0, 101)}
    pair = claims.laplace_groups(2.0)
    assert pair.a == pytest.approx([1.0 - above[0.0], above[0.0]], rel=1e-12)
    assert pair.b == pytest.approx([1.0 - above[1.0], above[1.0]], rel=1e-12)
    smallest_ratios = {
        x: min(above[1.0] / mass, (1.0 - above[0.0]) / (1.0 - mass)) for x, mass in above.items()
    }
    best = max(smallest_ratios, key=smallest_ratios.__getitem__)
    assert best == 0.5
    assert pair.c == pytest.approx([1.0 - above[best], above[best]], rel=1e-12)
    # The quotient tends to √((e^ε₀ − 1)/(2β)) as n grows.
    [point] = claims.laplace_above_groups(None).query("eps0 == 0.5 and n == 100000").itertuples()
    limit = math.sqrt(math.expm1(0.5) / (2.0 * -math.expm1(-0.25))) - 1.0
    assert limit < point.low <= point.high < limit + 0.03


def test_subsets_of_two_are_not_judged_as_large_ones():
    """⌈16/e^ε₀⌉ is 10, 3 and 2."""
    published, lower = (
        curve(SUBSET, "variation_ratio_published", [1.05, 1.05, 1.45]),
        curve(SUBSET, "merged_lower_printed", 1.0),
    )
    shown = [table.assign(eps0=[0.5, 2.0, 2.7]) for table in (published, lower)]
    found = judged("roughly_tight", *shown)
    assert (found["verdict"], found["holds_in"]) == (REPRODUCED, "1 of 1 panels, 2 of 2 points")
    shown = [table.assign(eps0=[0.5, 2.0, 2.0]) for table in (published, lower)]
    assert verdict("roughly_tight", *shown) == NOT_REPRODUCED


def test_what_ten_bisections_leave_is_what_the_algorithm_leaves():
    """The paper's own algorithm, which shares no code, in the four cells of n = 10⁴."""
    holds = []
    for (eps0, n), printed in general_pair.PRINTED.items():
        if n == 10**4:
            p = math.exp(eps0)
            eps = general_pair.bisected_epsilon(p, math.tanh(eps0 / 2.0), p, n, 0.01 / n, 10)
            holds.append(f"{eps:.3g}" == f"{printed[10].eps:.3g}")
    # Two of the four, and six of the eight others, as an independent program has it.
    assert holds == [False, True, False, True]
    assert CLAIMS["table5_ten"].judge(None).holds_in == "8 of 12 cells"


def test_summands_are_those_of_the_most_likely_outcomes():
    """All histograms of five users, in float; the set of outcomes is that of the whole law."""
    p, beta, q, eps, n = 3.0, 0.2, 4.0, 0.2, 5
    alpha = beta / (p - 1.0)
    r, rest = alpha * p / q, 1.0 - alpha - p * alpha
    laws = {}  # By C and by the counts of both kinds, under both hypotheses.
    for c in range(n):
        for a in range(c + 1):
            mass = stats.binom.pmf(c, n - 1, 2.0 * r) * stats.binom.pmf(a, c, 0.5)
            for x, y, first, second in (
                (a + 1, c - a, p * alpha, alpha),
                (a, c - a + 1, alpha, p * alpha),
                (a, c - a, rest, rest),
            ):
                both = laws.setdefault((x, y), np.zeros((n, 2)))
                both[c] += mass * np.array([first, second])
    summed = np.zeros(n)
    for both in laws.values():
        excess = both @ [1.0, -math.exp(eps)]
        summed += excess if excess.sum() > 0.0 else 0.0
    chances = stats.binom.pmf(np.arange(n), n - 1, 2.0 * r)
    found = general_pair.summands(p, beta, q, eps, n, np.arange(float(n)))
    assert found == pytest.approx(summed / chances, rel=1e-9, abs=1e-12)
    # They rise and are negative, while the divergence at a known C falls.
    assert found.min() < 0.0 < np.diff(found).max()
    assert CLAIMS["non_increasing"].judge(None).verdict == IN_PART


def test_times_are_those_of_table_five():
    """16.7 and 2.8 s at n = 10⁶; 106.2 and 0.43 s at ε₀ = 1, n = 10⁸; 0.45 and 2.3 s at n = 10⁴."""
    found = CLAIMS["level_time"].judge(None)
    # At ε₀ = 1, twenty bisections take 0.45 s for 10⁴ users and 106.2 s for 10⁸.
    assert (
        f"{106.2 / 0.45:.3g} times from the fastest to the slowest n for T = 20" in found.measured
    )
    assert (found.verdict, found.holds_in) == (IN_PART, "1 of 2 values of T")
    found = CLAIMS["longer_time"].judge(None)
    assert found.measured == f"{0.45 / 2.3:.2g} to {106.2 / 0.43:.3g} times as long"
    assert (found.verdict, found.holds_in) == (IN_PART, "10 of 12 cells")


def test_three_numbers_of_table_two_are_not_confirmed():
    """Two bits of five tell two inputs apart unless both bits are others': 1 − 3/10 over 2/5."""
    found = CLAIMS["table2"].judge(None)
    assert (found.verdict, found.holds_in) == (IN_PART, "8 of 11 mechanisms")
    factor = (1 - math.comb(3, 2) / math.comb(5, 2)) / (2 / 5)
    assert f"sampling RAPPOR, s = 2 of d = 5 ({factor:.6g} times the printed)" in found.measured
    assert "local hash, l = 4 (0.75 times the printed)" in found.measured
    assert "Wheel, s = 1, length 0.3 (0.7 times the printed)" in found.measured


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        # The paper's own times are all above a dozen seconds.
        ([1.0, 2.0, 3.0, 4.0], IN_PART),
        ([100.0, 2.0, 3.0, 4.0], IN_PART),
        ([100.0, 20.0, 30.0, 40.0], NOT_REPRODUCED),
    ],
)
def test_seconds_are_those_of_the_algorithm(monkeypatch, seconds, expected):
    def timed(given, context):
        assert (given.n, given.iterations) == ((10**8,), (20,))
        return pd.DataFrame({"eps0": given.eps0, "seconds": 0.003, "bisected_20_seconds": seconds})

    monkeypatch.setattr(general_pair, "timed_table", timed)
    assert CLAIMS["seconds"].judge(pd.DataFrame()).verdict == expected


def test_the_printed_condition_admits_what_the_pair_does_not_keep():
    """The paper's own sum over all counts (Theorem 4.8) is 256 times the claimed δ."""
    eps = claims.printed_condition(1000.0, 0.4, 15.0, 1000, 1e-6)
    assert general_pair.summed_delta(1000.0, 0.4, 15.0, eps, 1000) == pytest.approx(
        2.56e-4, rel=0.01
    )
    # Near the largest β, 0.5, little is left of the victim's report, and the claim is true.
    eps = claims.printed_condition(3.0, 0.49, 5.0, 100_000, 1e-6)
    assert general_pair.summed_delta(3.0, 0.49, 5.0, eps, 100_000) <= 1e-6
    found = judged("analytic_condition", curve(KRR, "lower", 0.1))
    assert found["verdict"] == NOT_REPRODUCED
