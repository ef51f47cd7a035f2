"""Mechanisms by the probabilities of a configuration: ε₀, laws, answers and mistakes."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from commands import answer, run
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

import shufflebounds as sb
from shufflebounds.randomizers.description import parse
from shufflebounds.randomizers.probabilities import eps0_of_ratio

THOUSANDTHS = st.integers(1, 999).map(lambda x: x / 1000)


def exact_log(ratio: Fraction) -> mpmath.mpf:
    """The logarithm with 60 digits."""
    with mpmath.workdps(60):
        return mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)


@given(st.fractions(1, 10**6).filter(lambda x: x > 1))
def test_eps0_is_the_smallest_float_that_is_not_below_the_logarithm(ratio):
    eps0, exact = eps0_of_ratio(ratio, "p"), exact_log(ratio)
    with mpmath.workdps(60):
        assert math.nextafter(eps0, 0.0) < exact <= eps0


def test_ratios_next_to_1_and_at_the_limit():
    tiny = Fraction(1, 10**30)
    assert eps0_of_ratio(1 + tiny, "p") == pytest.approx(1e-30, rel=1e-15)
    with pytest.raises(ValueError, match=r"^p and q must give an eps0 of at most 300$"):
        eps0_of_ratio(Fraction(10) ** 140, "p and q")


@given(st.integers(2, 9), THOUSANDTHS)
def test_random_is_the_share_of_uniform_reports(k, random):
    rows = sb.KRR.from_probabilities(k, random).matrix()
    expected = (1 - random) * np.eye(k) + random / k
    np.testing.assert_allclose(rows, expected, rtol=1e-12)


@given(THOUSANDTHS, THOUSANDTHS)
def test_bits_of_unary_are_1_with_p_and_q(first, second):
    q, p = sorted((first, second))
    if q == p:
        return
    rows = sb.UnaryEncoding.from_probabilities(p, q, domain_size=2).matrix()
    own = [(1 - p) * (1 - q), p * (1 - q), (1 - p) * q, p * q]  # columns 00, 10, 01, 11
    np.testing.assert_allclose(rows[0], own, rtol=1e-10)


@pytest.mark.parametrize("numbers", [(0.5, 0.5, 0.75), (0.25, 0.1, 0.6), (0.5, None, None)])
def test_rappor_flips_bits_twice(numbers):
    """Against the sum over the memoized bits; the numbers of Chromium come first."""
    f, p, q = numbers
    rows = sb.RAPPOR.from_probabilities(f=f, p=p, q=q, domain_size=2).matrix()
    p, q = (0.0, 1.0) if p is None else (p, q)
    reported = np.array([[1 - p, p], [1 - q, q]])  # by the memoized bit
    memoized = np.array([[1 - f / 2, f / 2], [f / 2, 1 - f / 2]])  # by the true bit
    bit = memoized @ reported
    for x in (0, 1):
        own = [bit[int(x == 0), y & 1] * bit[int(x == 1), y >> 1] for y in range(4)]
        np.testing.assert_allclose(rows[x], own, rtol=1e-12)


def test_symmetric_bits_are_rappor():
    made = sb.RAPPOR.from_probabilities(f="1/2", domain_size=4)
    assert type(made) is sb.RAPPOR
    assert made.eps0 == pytest.approx(2 * math.log(3), rel=1e-15)
    # The letters may be exchanged where that changes nothing.
    for p, q in ((0.25, 0.75), (0.75, 0.25)):
        assert sb.RAPPOR.from_probabilities(p=p, q=q, domain_size=4) == made


def test_a_survey_is_the_matrix_of_its_die():
    survey = sb.Survey(forced_yes="1/6", forced_no=0.25)
    np.testing.assert_allclose(survey.matrix(), [[5 / 6, 1 / 6], [0.25, 0.75]], rtol=1e-15)
    assert survey.eps0 >= math.log(4.5)
    shares = survey.estimate(survey.sample([0] * 30_000 + [1] * 10_000, np.random.default_rng(2)))
    assert abs(shares[1] - 0.25) < 5.0 * survey.error(40_000, [0.75, 0.25]).largest ** 0.5


def survey_divergence(eps: float, n: int) -> float:
    """The largest D of a die with 1/6 twice, all others holding one answer, by its binomial sum."""
    lie, m = 1 / 6, np.arange(n + 1.0)
    log_law = gammaln(n) - gammaln(m + 1) - gammaln(n - m) + m * math.log(lie)
    lies = np.append(np.exp(log_law + (n - 1 - m) * math.log(1 - lie))[:n], 0.0)
    shifted = np.append(0.0, lies[:-1])
    truth, other = (1 - lie) * lies + lie * shifted, lie * lies + (1 - lie) * shifted
    return max(
        np.maximum(x - math.exp(eps) * y, 0.0).sum() for x, y in ((truth, other), (other, truth))
    )


def test_a_survey_of_2457_users():
    found = sb.epsilon(sb.Survey("1/6"), n=2457, delta=1e-5)
    low, up = 0.116868, 0.116869
    assert survey_divergence(low, 2457) > 1e-5 > survey_divergence(up, 2457)
    assert found.lower < up
    assert low < found.upper < 0.1170
    same = sb.epsilon(sb.KRR.from_probabilities(k=2, random="1/3"), n=2457, delta=1e-5)
    assert same.lower == pytest.approx(found.lower, rel=1e-3)


def topics_divergence(eps: float, n: int, k: int, random: float) -> float:
    """D of k-RR whose others hold a third value, by the counts of the victim's two values."""
    lie = random / k
    truth, i = 1 - random + lie, np.arange(420.0)

    def law(first, second):
        exists = (first >= 0) & (second >= 0)
        x, y = np.where(exists, first, 0.0), np.where(exists, second, 0.0)
        rest = n - 1 - x - y
        log_law = gammaln(n) - gammaln(x + 1) - gammaln(y + 1) - gammaln(rest + 1)
        log_law += (x + y) * math.log(lie) + rest * math.log1p(-2 * lie)
        return np.where(exists, np.exp(log_law), 0.0)

    x, y = np.meshgrid(i, i, indexing="ij")
    first, second, rest = law(x - 1, y), law(x, y - 1), (1 - truth - lie) * law(x, y)
    excess = truth * first + lie * second + rest
    excess -= math.exp(eps) * (lie * first + truth * second + rest)
    return float(np.maximum(excess, 0.0).sum())


def test_topics():
    """469 topics, 5 % of them random, a million users."""
    found = sb.epsilon(sb.KRR.from_probabilities(k=469, random=0.05), n=10**6, delta=1e-9)
    assert topics_divergence(found.lower, 10**6, 469, 0.05) >= 1e-9
    assert topics_divergence(found.upper, 10**6, 469, 0.05) <= 1e-9
    assert found.upper < 0.739633
    asked = ("--mechanism", "krr", "--k", 469, "--random", 0.05, "--n", "1e6", "--delta", "1e-9")
    facts = answer("epsilon", *asked)
    assert facts["parameters"] == {"k": 469, "random": 0.05}
    assert facts["eps0"] == pytest.approx(math.log(8912), rel=1e-15)
    assert "469-RR (eps0 = 9.09516)" in run("epsilon", *asked).stdout


@pytest.mark.parametrize(
    ("options", "made"),
    [
        (
            ("unary", "--p", ".75", "--q", ".25", "--domain-size", "4"),
            sb.RAPPOR(2 * math.log(3), domain_size=4),
        ),
        (("rappor", "--p", ".25", "--q", ".75", "--domain-size", "4"), None),
        (("rappor", "--f", "1/2", "--domain-size", "4"), None),
        (("survey", "--forced-yes", "1/6"), sb.KRR(2, math.log(5))),
        (("krr", "--k", "2", "--random", "1/3"), sb.KRR(2, math.log(5))),
        (("krr", "--k", "2", "--p", "5/6"), sb.KRR(2, math.log(5))),
        (("krr", "--k", "4", "--p", "0.5"), sb.KRR(4, math.log(3))),
    ],
)
def test_probabilities_are_options(options, made):
    made = made or sb.RAPPOR(2 * math.log(3), domain_size=4)
    asked = ("--n", 10_000, "--delta", "1e-6")
    facts = answer("delta", "--mechanism", *options, "--n", 10_000, "--eps", "0.05")
    expected = sb.delta(made, eps=0.05, n=10_000)
    best = facts["best"]
    assert best["upper"] == pytest.approx(expected.upper, rel=5e-3)
    assert run("epsilon", "--mechanism", *options, *asked).exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("krr", "--k", "4", "--random", "0.1", "--eps0", "2"),
            "--eps0 must be left out: --k, --random set the noise",
        ),
        (("krr", "--k", "4", "--p", "1/4"), "p must be above 1/k, the chance of each value"),
        (("krr", "--k", "4", "--p", "0.5", "--random", "0.1"), "either random or p must be given"),
        (("krr", "--k", "4", "--random", "5"), "with 0 <= random <= 1, got 5; for 5 % write 0.05"),
        (("krr", "--k", "4", "--random", "0"), "random must be a probability above 0 and below"),
        (("krr", "--k", "4", "--random", "1/0"), "random must be a probability above 0 and below"),
        (("unary", "--p", ".25", "--q", ".75"), "q must be below p, got p = 0.25 and q = 0.75"),
        (("unary", "--p", ".75"), "q is missing; unary needs: p, q"),
        (
            ("unary", "--p", ".75", "--q", ".25", "--noise", ".25"),
            "noise must be left out of unary with p and q, which determine it",
        ),
        (("rappor", "--f", ".5", "--p", ".5"), "f, or p and q, or all three must be given"),
        (("rappor", "--p", ".6", "--q", ".5"), "p must be below q, got p = 0.6 and q = 0.5"),
        (("rappor", "--f", ".5", "--bits", "8", "--domain-size", "3"), "domain_size must be left"),
        (("survey", "--forced-yes", ".6"), "forced_yes and forced_no must sum to less than 1"),
        (("survey", "--forced-yes", ".1", "--eps0", "1"), "--eps0 must be left out"),
    ],
)
def test_contradictions_are_one_sentence(options, message):
    done = run("epsilon", "--mechanism", *options, "--n", "1000", "--delta", "1e-6")
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_parts_with_an_eps0_of_their_own():
    """Three linked signals of the Protected Audience API, 1 % of each random."""
    sizes, asked = (16, 32, 4096), ("--n", "1e6", "--delta", "1e-9")
    eps0 = [math.log(1 + 99 * k) for k in sizes]
    expected = sb.Joint([sb.KRR(k, x) for k, x in zip(sizes, eps0, strict=True)])
    by_random = [("--part", f"krr k={k} random=0.01") for k in sizes]
    by_eps0 = [("--part", f"krr k={k} eps0={x!r}") for k, x in zip(sizes, eps0, strict=True)]
    answers = [
        answer("epsilon", "--mechanism", "joint", *itertools.chain(*parts), *asked)
        for parts in (by_random, by_eps0)
    ]
    exact = sb.epsilon(expected, n=10**6, delta=1e-9)
    for facts in answers:
        assert facts["eps0"] == pytest.approx(sum(eps0), rel=1e-14)
        best = facts["best"]["upper"]
        assert exact.lower <= best
        assert best == pytest.approx(exact.upper, rel=1e-3)
    mixed = ("--part", "krr k=16 eps0=2", "--part", "krr k=16", "--eps0", "4")
    done = run("epsilon", "--mechanism", "joint", *mixed, *asked)
    assert "parts[0].mechanism has an eps0 of its own; then every part must" in done.stderr


def test_descriptions_have_them_too():
    made = parse({"type": "krr", "k": 4, "random": 0.05})
    assert made.has_own_eps0
    assert made.randomizer(None) == sb.KRR.from_probabilities(4, 0.05)
    assert parse(made.plain()) == made
    fixed = parse({"type": "krr", "k": 4, "eps0": 2.0})
    assert fixed.has_own_eps0
    assert fixed.randomizer(None) == sb.KRR(4, 2.0)
    assert str(fixed) == "krr(k=4, eps0=2.0)"


def test_deployments_have_them_too():
    report = {"mechanism": {"type": "krr", "k": 4, "random": 0.05}, "answers": "fresh"}
    content = {"users": 10_000, "days": 1, "reports": {"answer": report}}
    found = sb.Deployment(content).epsilon(1e-6)
    expected = sb.epsilon(sb.KRR.from_probabilities(4, 0.05), n=10_000, delta=1e-6)
    assert found.upper == pytest.approx(expected.upper, rel=1e-3)
    with pytest.raises(ValueError, match=r"^reports\.answer\.eps0 must be left out: krr\(k=4, r"):
        sb.Deployment({**content, "reports": {"answer": {**report, "eps0": 1.0}}})
