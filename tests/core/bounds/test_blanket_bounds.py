"""Closed forms against exact divergences and their formulas in high-precision arithmetic."""

import math
import warnings
from unittest.mock import Mock

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import exact_delta

import shufflebounds as sb
from shufflebounds.bounds import blanket_inequalities
from shufflebounds.bounds.blanket_inequalities import bennett_divergence, hoeffding_divergence
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import Setting
from shufflebounds.subjects.base import ANY_AIM, GivenSource, Shuffle, Subject

DIVERGENCES = [hoeffding_divergence, bennett_divergence]
CLOSED_FORMS = [
    "blanket_hoeffding",
    "blanket_hoeffding_generic",
    "blanket_bennett",
    "blanket_bennett_generic",
    "clone_closed_form",
    "erlingsson",
]
BLANKET_BOUNDS = [name for name in CLOSED_FORMS if name.startswith("blanket")]
RELATIVE = 1e-9


def mp(x):
    return mpmath.mpf(x)


class Reports(Subject):
    """Users of whom nothing is known but ε₀ and a blanket."""

    def __init__(self, eps0, blanket):
        self.eps0, self.blanket = eps0, blanket

    def shuffles(self, n, aim=ANY_AIM):
        return [Shuffle(GivenSource({"": self.blanket}, {}, self.eps0), n)]


def epsilon(name, *, blanket, eps0, n, delta):
    """What a bound of the registry says of ε."""
    setting = Setting(n=n, delta=delta)
    return BOUNDS[name].answer(Reports(eps0, blanket), "epsilon", setting).enclosure


def on_delta(divergence, blanket, eps, n):
    """The upper end of what an inequality says of δ, for a known blanket."""
    losses = blanket_inequalities.specific(blanket)
    return blanket_inequalities.delta_enclosure(divergence, losses, eps, n).upper


def on_delta_generic(divergence, eps0, eps, n):
    """The upper end of what an inequality says of δ, for every ε₀-LDP randomizer."""
    losses = blanket_inequalities.generic(eps0)
    return blanket_inequalities.delta_enclosure(divergence, losses, eps, n).upper


# The witnesses: the bounds as the paper writes them. They take masses as mpmath numbers and share
# nothing with the library but the definition of a decomposition.


def krr_masses(k, eps0):
    e = mpmath.exp(mp(eps0))
    p = 1 / (e + k - 1)
    return [e * p, p, (k - 2) * p], [p, e * p, (k - 2) * p], [p, p, (k - 2) * p]


def float_masses(decomposition):
    """What is meant by a and b are masses that sum to 1."""
    a, b, c = ([mp(x) for x in getattr(decomposition, name).tolist()] for name in "abc")
    return [x / sum(a) for x in a], [x / sum(b) for x in b], c


def loss_moments(a, b, c, t):
    """γ, a, b₊, range and second moment of L = γ(a_j − e^ε b_j)/c_j, given a blanket component."""
    gamma = sum(c)
    present = [(x, y, z) for x, y, z in zip(a, b, c, strict=True) if z > 0]
    values = [gamma * (x - t * y) / z for x, y, z in present]
    chances = [z / gamma for _, _, z in present]
    mean = mpmath.fdot(values, chances)
    square = mpmath.fdot([v * v for v in values], chances)
    return gamma, -mean, max(values), max(values) - min(values), square


def generic_moments(eps0, t):
    e = mpmath.exp(mp(eps0))
    return 1 / e, t - 1, e - t, (e - 1) * (t + 1), e * (t * t + 1) - 2 * t


def hoeffding_terms(drift, top, spread, square):
    if spread == 0:
        return mp(0), mp(1)
    return spread**2 / (4 * drift), 2 * drift**2 / spread**2


def bennett_terms(drift, top, spread, square):
    if top <= 0:
        return mp(0), mp(1)
    u = drift * top / square
    rate = square / top**2 * ((1 + u) * mpmath.log(1 + u) - u)
    return top / mpmath.log(1 + u), rate


TERMS = {hoeffding_divergence: hoeffding_terms, bennett_divergence: bennett_terms}


def averaged(prefactor, rate, gamma, n):
    alive = 1 - gamma + gamma * mpmath.exp(-rate)
    return prefactor * (alive**n - (1 - gamma) ** n) / (gamma * n)


def summed(prefactor, rate, gamma, n):
    """The average over M ~ Bin(n, γ) term by term; M = 0 contributes nothing."""
    terms = [
        mpmath.binomial(n, m)
        * gamma**m
        * (1 - gamma) ** (n - m)
        * prefactor
        * mpmath.exp(-m * rate)
        for m in range(1, n + 1)
    ]
    return mpmath.fsum(terms) / (gamma * n)


def formula(divergence, masses, eps, n, average=averaged):
    a, b, c = masses
    t = mpmath.exp(mp(eps))
    bounds = []
    for x, y in ((a, b), (b, a)):
        gamma, *moments = loss_moments(x, y, c, t)
        bounds.append(average(*TERMS[divergence](*moments), gamma, n))
    return min(mp(1), max(bounds))


def generic_formula(divergence, eps0, eps, n, average=averaged):
    gamma, *moments = generic_moments(eps0, mpmath.exp(mp(eps)))
    return min(mp(1), average(*TERMS[divergence](*moments), gamma, n))


def assert_just_above(value, witness, relative=RELATIVE):
    """A float not below the witness and, where it is a normal number, not far above it either."""
    assert mp(value) >= witness
    assert mp(value) <= max(witness * (1 + mp(relative)), mp(2) ** -1000)


@pytest.fixture(autouse=True)
def precision():
    with mpmath.workdps(50):
        yield


@st.composite
def decompositions(draw, largest=4):
    """Decompositions whose components all have c > 0, not symmetric, sums off by rounding."""
    size = draw(st.integers(2, largest))
    weights = st.lists(st.floats(0.05, 1.0), min_size=size, max_size=size)
    a, b = (np.array(draw(weights)) for _ in range(2))
    a, b = a / a.sum(), b / b.sum()
    share = np.array(draw(weights))
    return sb.Decomposition(a, b, share * np.minimum(a, b))


@st.composite
def channels(draw):
    """ε₀, and an ε₀-LDP channel with strictly positive entries, shape (inputs, outputs)."""
    eps0 = draw(st.floats(0.05, 6.0))
    inputs, outputs = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    # Normalisation may double the distance of two rows in the exponent.
    entry = st.floats(0.0, eps0 / 2.001)
    exponents = draw(st.lists(entry, min_size=inputs * outputs, max_size=inputs * outputs))
    rows = np.exp(np.reshape(exponents, (inputs, outputs)))
    return eps0, rows / rows.sum(axis=1, keepdims=True)


users = st.integers(1, 5)
fractions_of_eps0 = st.floats(0.02, 0.98)


class TestBoundsAreBounds:
    @pytest.mark.parametrize("divergence", DIVERGENCES)
    @settings(deadline=None, max_examples=40)
    @given(channel=channels(), fraction=fractions_of_eps0, n=users)
    def test_generic_holds_for_any_channel(self, divergence, channel, fraction, n):
        eps0, rows = channel
        eps = fraction * eps0
        blanket = sb.Decomposition(rows[0], rows[1], rows.min(axis=0))
        generic = on_delta_generic(divergence, eps0, eps, n)
        [loss] = blanket_inequalities.with_similarity(blanket, eps0)(
            eps, eps, blanket_inequalities.ABOVE
        )
        similar = divergence(loss, n, blanket_inequalities.ABOVE)
        specific, truth = on_delta(divergence, blanket, eps, n), exact_delta(blanket, eps, n).lower
        assert truth <= similar <= generic * (1 + RELATIVE)
        # Both formulas rise with what the generic one has overestimated.
        assert truth <= specific <= generic * (1 + RELATIVE)

    def test_variance_in_bennett_would_not_be_a_bound(self):
        k, eps0, eps = 10**6, math.log(9.0), math.log(8.0)
        masses = krr_masses(k, eps0)
        truth = masses[0][0] - mpmath.exp(mp(eps)) * masses[1][0]  # of a lone user
        gamma, drift, top, spread, square = loss_moments(*masses, mpmath.exp(mp(eps)))
        wrong = averaged(*bennett_terms(drift, top, spread, square - drift**2), gamma, 1)
        assert (
            wrong
            < truth
            <= on_delta(bennett_divergence, sb.KRR(k=k, eps0=eps0).blanket(), eps, n=1)
        )

    def test_least_gamma_in_the_range_of_hoeffding_would_not_be_a_bound(self):
        eps0, eps, n = 4.0, 2.0, 3
        truth = exact_delta(sb.KRR(2, eps0).blanket(), eps, n).lower
        gamma, drift, top, spread, square = generic_moments(eps0, mpmath.exp(mp(eps)))
        wrong = averaged(*hoeffding_terms(drift, top, gamma * spread, square), gamma, n)
        assert wrong < truth <= on_delta_generic(hoeffding_divergence, eps0, eps, n)


class TestAgainstFormulas:
    @pytest.mark.parametrize("divergence", DIVERGENCES)
    @pytest.mark.parametrize("n", [1, 2, 7, 60])
    @pytest.mark.parametrize(("k", "eps0", "eps"), [(2, 1.0, 0.5), (10, 4.0, 2.0), (50, 0.3, 0.1)])
    def test_average_over_blanket_users_term_by_term(self, divergence, k, eps0, eps, n):
        blanket = sb.KRR(k=k, eps0=eps0).blanket()
        expected = formula(divergence, krr_masses(k, eps0), eps, n, average=summed)
        assert_just_above(on_delta(divergence, blanket, eps, n), expected)
        expected = generic_formula(divergence, eps0, eps, n, average=summed)
        assert_just_above(on_delta_generic(divergence, eps0, eps, n), expected)

    @pytest.mark.parametrize("divergence", DIVERGENCES)
    @pytest.mark.parametrize(
        ("eps0", "eps", "n"),
        [
            # ε near 0, in between, near ε₀ and beyond; values near 1, tiny ones and underflow.
            (1e-3, 1e-6, 10**7),
            (0.1, 1e-12, 10**15),
            (0.3, 3.0, 5),
            (4.0, 3.5, 10**4),
            (8.0, 7.999, 10**6),
            (60.0, 59.0, 10**15),
            (300.0, 1e-12, 1),
            (300.0, 150.0, 10**15),
            (300.0, 299.9, 10**15),
        ],
    )
    def test_extreme_arguments(self, divergence, eps0, eps, n):
        # A relative error of the masses counts 1/ε₀ times in L.
        relative = RELATIVE * max(1.0, 1e-2 / eps0)
        with mpmath.workdps(400), warnings.catch_warnings():
            warnings.simplefilter("error")
            blanket = sb.KRR(k=40, eps0=eps0).blanket()
            expected = formula(divergence, krr_masses(40, eps0), eps, n)
            assert_just_above(on_delta(divergence, blanket, eps, n), expected, relative)
            expected = generic_formula(divergence, eps0, eps, n)
            assert_just_above(on_delta_generic(divergence, eps0, eps, n), expected)

    @pytest.mark.parametrize("divergence", DIVERGENCES)
    @settings(deadline=None, max_examples=100)
    @given(
        decomposition=decompositions(),
        eps0=st.floats(0.01, 6.0),
        log_lo=st.floats(math.log(1e-6), math.log(6.0)),
        log_width=st.floats(math.log(1e-9), math.log(10.0)),
        n=st.integers(1, 10**5),
    )
    def test_bound_over_an_interval(self, divergence, decomposition, eps0, log_lo, log_width, n):
        lo = math.exp(log_lo)
        hi = lo * (1.0 + math.exp(log_width))

        def least(losses):
            sides = losses(lo, hi, blanket_inequalities.BELOW)
            return max(divergence(loss, n, blanket_inequalities.BELOW) for loss in sides)

        specific = least(blanket_inequalities.specific(decomposition))
        generic = least(blanket_inequalities.generic(eps0))
        for fraction in (0.0, 0.3, 0.7, 0.999):
            eps = lo + fraction * (hi - lo)
            with mpmath.workdps(400):
                assert specific <= formula(divergence, float_masses(decomposition), eps, n)
                assert generic <= generic_formula(divergence, eps0, eps, n)


class TestDelta:
    def test_bennett_is_0_where_the_loss_cannot_be_positive(self):
        assert on_delta_generic(bennett_divergence, 1.0, 1.0, 10) == 0.0
        assert on_delta(bennett_divergence, sb.KRR(k=3, eps0=1.0).blanket(), 1.0 + 1e-9, 10) == 0.0
        assert on_delta(bennett_divergence, sb.KRR(k=3, eps0=1.0).blanket(), 1.0 - 1e-9, 10) > 0.0

    @pytest.mark.parametrize("divergence", DIVERGENCES)
    def test_trivial_where_nobody_covers_a_component(self, divergence):
        for a, b in (([0.5, 0.5, 0.0], [0.5, 0.3, 0.2]), ([0.5, 0.3, 0.2], [0.5, 0.5, 0.0])):
            decomposition = sb.Decomposition(a, b, [0.5, 0.3, 0.0])
            assert on_delta(divergence, decomposition, 0.5, 10**9) == 1.0

    @pytest.mark.parametrize("name", ["blanket_hoeffding", "blanket_bennett"])
    def test_uses_the_ends_of_a_blanket(self, name):
        inner, outer = (sb.KRR(k=4, eps0=eps0).blanket() for eps0 in (1.0, 1.1))
        both = sb.Decomposition(inner.a, inner.b, inner.c, inner.rel_err, outer=outer)
        setting = Setting(n=1000, eps=0.2)
        below, above, found = (
            BOUNDS[name].answer(Reports(1.1, blanket), "delta", setting).enclosure
            for blanket in (inner, outer, both)
        )
        assert found.lower == below.lower < below.upper < above.lower < above.upper == found.upper

    @pytest.mark.parametrize("divergence", DIVERGENCES)
    def test_uncertain_masses_widen_the_bound(self, divergence):
        """The bound for masses within rel_err holds for every distribution among them."""
        rough = sb.Decomposition([0.6, 0.4], [0.4, 0.6], [0.4, 0.4], rel_err=1e-4)
        widened = on_delta(divergence, rough, 0.1, 500)
        for shift in (-4e-5, 4e-5):
            a, b, c = [0.6 + shift, 0.4 - shift], [0.4 - shift, 0.6 + shift], [0.4 - abs(shift)] * 2
            assert widened > on_delta(divergence, sb.Decomposition(a, b, c), 0.1, 500)

    @pytest.mark.parametrize("divergence", DIVERGENCES)
    @settings(deadline=None, max_examples=150)
    @given(
        decomposition=decompositions(largest=6),
        eps0=st.floats(0.01, 20.0),
        log_eps=st.floats(math.log(1e-12), math.log(20.0)),
        log_n=st.floats(0.0, math.log(1e15)),
    )
    def test_both_ends_against_the_formula(self, divergence, decomposition, eps0, log_eps, log_n):
        eps, n = math.exp(log_eps), round(math.exp(log_n))
        a, b, c = float_masses(decomposition)
        with mpmath.workdps(400):
            losses = blanket_inequalities.specific(decomposition)
            found = blanket_inequalities.delta_enclosure(divergence, losses, eps, n)
            assert found.lower <= formula(divergence, (a, b, c), eps, n) <= found.upper
            found = blanket_inequalities.delta_enclosure(
                divergence, blanket_inequalities.generic(eps0), eps, n
            )
            truth = generic_formula(divergence, eps0, eps, n)
            assert found.lower <= truth <= found.upper
            if truth > 1e-250:
                assert found.relative_width <= 1e-6 * max(1.0, 1e-2 / min(eps0, eps))

    @pytest.mark.parametrize("divergence", DIVERGENCES)
    @pytest.mark.parametrize("name", ["specific", "generic"])
    @pytest.mark.parametrize("eps", [0.0, 1e-31, 1e-30, 1e-12, 0.5, 2.0, 699.0, 701.0, 1e300])
    @pytest.mark.parametrize("n", [1, 1000, 10**15])
    def test_ends_wherever_eps_lies(self, divergence, name, eps, n):
        """k-RR's masses are algebraic, so the formula of the blanket itself is the witness."""
        eps0 = 2.0
        specific = blanket_inequalities.specific(sb.KRR(k=3, eps0=eps0).blanket())
        losses = specific if name == "specific" else blanket_inequalities.generic(eps0)
        found = blanket_inequalities.delta_enclosure(divergence, losses, eps, n)
        assert 0.0 <= found.lower <= found.upper <= 1.0
        if eps == 0.0:
            # No drift, no bound.
            assert found.upper == 1.0
            return
        with mpmath.workdps(700):
            if name == "specific":
                truth = formula(divergence, krr_masses(3, eps0), eps, n)
            else:
                truth = generic_formula(divergence, eps0, eps, n)
            # A bound of D for this ε, if not of the formula itself where that has turned.
            assert found.lower <= truth
            if eps <= 700.0:
                assert truth <= found.upper


def witness(name, masses, eps0, eps, n):
    divergence = bennett_divergence if "bennett" in name else hoeffding_divergence
    if name.endswith("generic"):
        return generic_formula(divergence, eps0, eps, n)
    return formula(divergence, masses, eps, n)


class TestEpsilon:
    @pytest.mark.parametrize("name", BLANKET_BOUNDS)
    @pytest.mark.parametrize(
        ("eps0", "n", "delta"),
        [
            (0.1, 1000, 1e-6),
            (0.1, 10**12, 1e-6),
            (0.1, 10**15, 1e-100),
            (4.0, 10**5, 1e-6),
            (4.0, 10**9, 1e-12),
            (20.0, 10**13, 1e-8),
        ],
    )
    def test_encloses_where_the_formula_reaches_delta(self, name, eps0, n, delta):
        blanket = sb.KRR(k=10, eps0=eps0).blanket()
        enclosure = epsilon(name, blanket=blanket, eps0=eps0, n=n, delta=delta)
        assert enclosure.relative_width <= RELATIVE
        masses = krr_masses(10, eps0)
        with mpmath.workdps(200):
            for fraction in (1 - 1e-12, 0.99, 0.9, 0.5, 0.1, 0.01):
                assert witness(name, masses, eps0, fraction * enclosure.lower, n) > delta
            if enclosure.upper < eps0:
                assert witness(name, masses, eps0, enclosure.upper, n) <= delta

    @pytest.mark.parametrize(
        ("name", "delta"), [("blanket_hoeffding", 1e-28), ("blanket_bennett", 3e-71)]
    )
    def test_first_crossing_of_a_bound_that_turns_and_rises(self, name, delta):
        eps0, n = 8.0, 10**6
        blanket, masses = sb.KRR(k=10, eps0=eps0).blanket(), krr_masses(10, eps0)
        assert witness(name, masses, eps0, eps0 * (1 - 1e-12), n) > delta
        enclosure = epsilon(name, blanket=blanket, eps0=eps0, n=n, delta=delta)
        assert enclosure.upper < 0.9 * eps0
        assert enclosure.relative_width <= 1e-8
        assert witness(name, masses, eps0, enclosure.upper, n) <= delta
        for fraction in np.linspace(0.02, 1.0, 50):
            assert witness(name, masses, eps0, fraction * enclosure.lower, n) > delta

    def test_bound_that_almost_touches_delta(self, monkeypatch):
        """At its minimum the bound just reaches δ: the enclosure may be wide but must come soon."""
        name, eps0, n, turn = "blanket_hoeffding", 8.0, 10**6, 5.5725
        blanket = sb.KRR(k=10, eps0=eps0).blanket()
        delta = on_delta(hoeffding_divergence, blanket, turn, n)
        counted = Mock(wraps=blanket_inequalities.average)
        monkeypatch.setattr(blanket_inequalities, "average", counted)
        enclosure = epsilon(name, blanket=blanket, eps0=eps0, n=n, delta=delta)
        assert 0 < counted.call_count < 20_000
        assert turn * 0.999 < enclosure.lower <= turn
        at_upper = on_delta(hoeffding_divergence, blanket, enclosure.upper, n)
        assert enclosure.upper == eps0 or at_upper <= delta

    @pytest.mark.parametrize("name", ["blanket_hoeffding", "blanket_bennett"])
    def test_inapplicable_bounds_answer_eps0(self, name):
        uncovered = sb.Decomposition([0.5, 0.3, 0.2], [0.5, 0.5, 0.0], [0.5, 0.3, 0.0])
        enclosure = epsilon(name, blanket=uncovered, eps0=2.0, n=10**9, delta=0.5)
        assert (enclosure.lower, enclosure.upper) == (2.0, 2.0)


class TestClosedForms:
    @staticmethod
    def epsilon(name, eps0, n, delta):
        blanket = sb.KRR(k=2, eps0=eps0).blanket()
        return epsilon(name, blanket=blanket, eps0=eps0, n=n, delta=delta)

    @pytest.mark.parametrize(
        ("eps0", "n", "delta"),
        [(0.1, 1000, 1e-6), (0.1, 10**15, 1e-300), (1e-6, 10**6, 1e-3), (4.0, 10**5, 1e-6)],
    )
    def test_clone(self, eps0, n, delta):
        e = mpmath.exp(mp(eps0))
        assert eps0 <= mpmath.log(n / (16 * mpmath.log(4 / mp(delta))))
        noise = 8 * mpmath.sqrt(e * mpmath.log(4 / mp(delta))) / mpmath.sqrt(n) + 8 * e / n
        expected = mpmath.log(1 + (e - 1) / (e + 1) * noise)
        enclosure = self.epsilon("clone_closed_form", eps0, n, delta)
        assert enclosure.lower <= min(expected, eps0) <= enclosure.upper
        assert enclosure.relative_width <= 1e-12

    @pytest.mark.parametrize("delta", [1e-6, 1e-3])
    @pytest.mark.parametrize("eps0", [1.0, 4.0, 7.0])
    def test_clone_outside_its_range(self, eps0, delta):
        # The authors' code has 4/δ where the paper has 2/δ.
        least_n = int(mpmath.ceil(16 * mpmath.exp(mp(eps0)) * mpmath.log(4 / mp(delta))))
        outside = self.epsilon("clone_closed_form", eps0, least_n - 1, delta)
        assert (outside.lower, outside.upper) == (eps0, eps0)
        if eps0 > 2.0:
            assert self.epsilon("clone_closed_form", eps0, least_n, delta).upper < eps0

    @pytest.mark.parametrize(
        ("eps0", "n", "delta"), [(0.1, 2000, 1e-6), (0.499, 10**15, 1e-300), (1e-6, 1000, 0.0099)]
    )
    def test_erlingsson(self, eps0, n, delta):
        expected = 12 * mp(eps0) * mpmath.sqrt(mpmath.log(1 / mp(delta)) / n)
        enclosure = self.epsilon("erlingsson", eps0, n, delta)
        assert enclosure.lower <= min(expected, eps0) <= enclosure.upper
        assert enclosure.relative_width <= 1e-12

    @pytest.mark.parametrize(
        ("inside", "outside"),
        [
            ((0.1, 1000, 0.005), (0.1, 999, 0.005)),
            ((0.499, 10**5, 1e-6), (0.5, 10**5, 1e-6)),
            ((0.1, 10**5, 0.0099), (0.1, 10**5, 0.01)),
        ],
    )
    def test_erlingsson_outside_its_range(self, inside, outside):
        assert self.epsilon("erlingsson", *inside).upper < inside[0]
        enclosure = self.epsilon("erlingsson", *outside)
        assert (enclosure.lower, enclosure.upper) == (outside[0], outside[0])


def laplace_bennett(eps0, n, delta):
    """Bennett's ε of Laplace noise on [0, 1], with the moments of R = L/a by integration.

    x = |y| − |y − 1| lies in [−1, 1], and a/c = e^{ε₀ max(0, −x)}, b/c = e^{ε₀ max(0, x)} there.
    """
    gamma = mpmath.exp(-mp(eps0) / 2)

    def excess(eps):
        growth = mpmath.exp(eps)

        def value(x):
            return gamma * (mpmath.exp(eps0 * max(0, -x)) - growth * mpmath.exp(eps0 * max(0, x)))

        # The blanket has half its mass where x = ±1, and the density e^{−ε₀|y − 1/2| − ε₀/2} ε₀/2
        # between, over its mass γ.
        def mean(power):
            tail = mpmath.exp(-mp(eps0) / 2) / 2  # each of |x| = 1, over γ
            inside = mpmath.quad(
                lambda y: mpmath.exp(-eps0 * abs(y - 0.5)) * eps0 / 2 * value(2 * y - 1) ** power,
                [0, 0.5, 1],
            )
            return tail * (value(-1) ** power + value(1) ** power) + inside

        drift, square, top = growth - 1, mean(2), value(-1)
        assert abs(mean(1) + drift) < 1e-20
        u = drift * top / square
        rate = square / top**2 * ((1 + u) * mpmath.log(1 + u) - u)
        seen = 1 - gamma + gamma * mpmath.exp(-rate)
        bound = top / mpmath.log(1 + u) * (seen**n - (1 - gamma) ** n) / (gamma * n)
        return mpmath.log(bound / delta)

    return mpmath.findroot(excess, (0.01 * eps0, 0.1 * eps0), solver="anderson", tol=1e-25)


@pytest.mark.parametrize(("eps0", "n"), [(0.1, 21_544), (1.0, 10_000)])
def test_bennett_of_laplace_noise_encloses_the_bound_of_the_continuum(eps0, n):
    expected = laplace_bennett(eps0, n, 1e-6)
    if eps0 == 0.1:
        assert abs(expected - mp("0.00225810550")) < mp("1e-11")
    blanket = sb.Laplace(eps0).blanket()
    found = epsilon("blanket_bennett", blanket=blanket, eps0=eps0, n=n, delta=1e-6)
    assert found.lower <= expected <= found.upper
    assert found.upper <= found.lower * (1.0 + 1e-4)
