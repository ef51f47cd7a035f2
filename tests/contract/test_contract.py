"""What every engine, every question and every bound of the registry must keep.

Engines and bounds meet enumeration in rational arithmetic, sums in fifty digits and numbers of
another program; questions refuse what they cannot be asked. A new one is one more line here.
"""

import itertools
import math
import re
from functools import partial

import mpmath
import numpy as np
import pytest
import shuffles
from engines import by_tree, fourier, overlap
from hypothesis import given
from hypothesis import strategies as st
from oracles import ANCHORS, exact
from strategies import decompositions, epsilons, examples

import shufflebounds as sb
from shufflebounds.bounds.base import DIVERGENCES, QUANTITIES, Kind, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import Setting
from shufflebounds.divergence import engine as certified
from shufflebounds.protocols.any_mechanism import AnyMechanism
from shufflebounds.protocols.messages import CheuZhilyaev
from shufflebounds.subjects.reports import Reports

# Engines: D(ε) of a decomposition for n users, at a relative width.


def rows(decomposition, eps, n, rtol):
    """One try of the Fourier engine at several points, of which the last one counts."""
    eps, n, rtol = (np.array([1.0 * x, 1.0 * x]) for x in (eps, n, rtol))
    lower, upper = certified.divergences(decomposition, eps, n, rtol, one_try=True)
    return sb.Enclosure(lower[1], upper[1])


ENGINES = {"fourier": fourier, "tree": by_tree, "rows": rows, "both": certified.divergence}
each_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


@given(
    st.data(),
    st.integers(1, 6),
    st.sampled_from([0.1, 1e-2, 1e-3]),
    st.sampled_from([(4, 12.0), (4, 12.0), (3, 280.0)]),
)
@examples(150)
def test_few_users_against_enumeration(data, n, rtol, shape):
    """Masses over hundreds of decades among them."""
    decomposition = data.draw(decompositions(*shape))
    eps = data.draw(epsilons(decomposition))
    truth = exact(decomposition, eps, n)
    for name, engine in ENGINES.items():
        assert overlap(engine(decomposition, eps, n, rtol), truth), name


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2.0**-53, 1e-13, 1e-9, 1e-5]),
    st.sampled_from([1.0, 1.0 - 1e-13, 0.5, 1e-4]),
    st.floats(0.0, 1.0),
)
@examples(50)
def test_every_decomposition_within_the_uncertainty_is_covered(seed, rel_err, sure, share):
    """The floats themselves are one of those that `rel_err` allows; some sum to 1 but for it."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5))
    n = int(rng.integers(2, {1: 40, 2: 40, 3: 14, 4: 8}[size]))
    a, b, c = (10.0 ** -rng.uniform(0.0, rng.choice([1.0, 6.0, 14.0]), size) for _ in "abc")
    a, b, c = a / a.sum(), b / b.sum(), sure * c / c.sum()
    while math.fsum([-1.0, *c]) > 0.0:
        c = np.nextafter(c, 0.0)
    eps = share * max(0.0, float(np.log(a / b).max()))
    truth, vague = exact(sb.Decomposition(a, b, c), eps, n), sb.Decomposition(a, b, c, rel_err)
    for name, engine in ENGINES.items():
        assert overlap(engine(vague, eps, n, 1e-4), truth), name


@each_engine
@pytest.mark.parametrize(("eps0", "n", "eps", "value", "digits"), ANCHORS)
def test_anchors_from_another_program(engine, eps0, n, eps, value, digits):
    rtol = 1e-4 if engine is by_tree else 1e-8
    found = engine(sb.KRR(k=10, eps0=eps0).blanket(), eps, n, rtol)
    assert found.lower <= value * (1.0 + digits)
    assert found.upper >= value * (1.0 - digits)
    assert engine is rows or found.relative_width <= rtol


def binomial_divergence(first, eps, n):
    """D(ε) of two components that use up all of c: S depends on one binomial count."""
    with mpmath.workdps(50):
        a, b, c = ((mpmath.mpf(x), 1 - mpmath.mpf(x)) for x in first)
        values = [
            (x - mpmath.exp(mpmath.mpf(eps)) * y) / z for x, y, z in zip(a, b, c, strict=True)
        ]
        total, mass = mpmath.mpf(0), c[1] ** n
        for k in range(n + 1):
            total += mass * max(mpmath.mpf(0), k * values[0] + (n - k) * values[1])
            mass *= mpmath.mpf(n - k) / (k + 1) * c[0] / c[1]
        return total / n


@pytest.mark.parametrize(
    ("first", "eps", "n"),
    [
        ((0.75, 0.25, 0.5), 0.01, 3000),
        ((0.75, 0.25, 0.5), 1.0, 300),
        ((0.5, 0.0625, 0.0625), 0.5, 2000),
        ((0.5 + 2.0**-9, 0.5 - 2.0**-9, 0.5), 0.0, 2000),
        ((0.5 + 2.0**-9, 0.5 - 2.0**-9, 0.5), 0.001, 3000),
        ((2.0**-12, 2.0**-20, 2.0**-14), 1e-4, 3000),
    ],
)
def test_thousands_of_users_against_a_binomial_sum(first, eps, n):
    truth = binomial_divergence(first, eps, n)
    decomposition = sb.Decomposition(*((x, 1.0 - x) for x in first))
    for engine, rtol in itertools.product(ENGINES.values(), (1e-2, 1e-4, 1e-6)):
        found = engine(decomposition, eps, n, rtol)
        assert found.lower <= truth <= found.upper
        # A lattice with atoms next to 0 is the worst case of smoothing.
        assert engine is not fourier or found.relative_width <= max(rtol, 1e-4)


# Questions: each with arguments that are good, and what is said of one that is not.


def largest_eps0(given_, **arguments):
    return sb.largest_eps0(lambda _: given_, **arguments)


KRR = sb.KRR(3, 1.0)
GOOD = {"n": 100, "eps": 0.3, "delta": 1e-6, "order": 2.0}
QUESTIONS = {
    sb.delta: ("eps", "n"),
    sb.epsilon: ("n", "delta"),
    sb.renyi: ("n", "order"),
    sb.renyi_epsilon: ("n", "delta"),
    sb.advantage: ("n",),
    sb.profile: ("n",),
    sb.fewest_users: ("eps", "delta"),
    sb.most_rounds: ("eps", "delta", "n"),
    largest_eps0: ("eps", "delta", "n"),
    sb.mechanism_epsilon: ("n", "delta"),
    sb.mechanism_delta: ("eps", "n"),
}
WRONG = {
    "n": {
        0: "n must be an integer from 1 to 1e15, got 0",
        1000.5: "n must be an integer from 1 to 1e15, got 1000.5",
        10**16: "n must be an integer from 1 to 1e15, got 10000000000000000",
    },
    "eps": {
        -0.1: "eps must be a finite number with eps >= 0, got -0.1",
        math.nan: "eps must be a finite number with eps >= 0, got nan",
        "1": "eps must be a finite number with eps >= 0, got '1'",
    },
    "delta": {
        value: f"delta must be a finite number with 1e-300 <= delta < 1, got {value!r}"
        for value in (0.0, 1.0, -1e-6, 1e-301, math.nan, "1e-6", None)
    },
    "order": {
        value: f"order must be a finite number with 1 < order <= 1000000, got {value!r}"
        for value in (1.0, math.inf, "2")
    },
    "rounds": {
        value: f"rounds must be an integer from 1 to 1000000, got {value!r}"
        for value in (0, 2.0, True, None)
    },
    "rtol": {
        value: f"rtol must be a finite number with 1e-09 <= rtol <= 0.1, got {value!r}"
        for value in (0.0, 0.5, "1e-4")
    },
}
# Which of them look at several rounds, or at a width.
ROUNDS = {sb.delta, sb.epsilon, sb.renyi, sb.renyi_epsilon, sb.advantage, sb.profile}
ROUNDS |= {sb.fewest_users, largest_eps0}
WIDTHS = {sb.delta, sb.epsilon, sb.renyi, sb.renyi_epsilon, sb.advantage, sb.most_rounds}
WIDTHS |= {sb.mechanism_epsilon, sb.mechanism_delta, largest_eps0}


@pytest.mark.parametrize("ask", QUESTIONS, ids=lambda ask: ask.__name__)
def test_what_no_question_can_be_asked_with(ask):
    names = [*QUESTIONS[ask], *["rounds"] * (ask in ROUNDS), *["rtol"] * (ask in WIDTHS)]
    of_mechanisms = ask in (sb.mechanism_epsilon, sb.mechanism_delta)
    for given_, name in itertools.product([KRR, KRR.blanket()][: 2 - of_mechanisms], names):
        for value, sentence in WRONG[name].items():
            arguments = {one: GOOD[one] for one in QUESTIONS[ask]} | {name: value}
            with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
                ask(given_, **arguments)
    for given_ in ("krr", None, sb.KRR, [KRR.blanket()]):
        with pytest.raises(ValueError, match=r"randomizer"):
            ask(given_, **{one: GOOD[one] for one in QUESTIONS[ask]})


# Bounds of the registry.

NUMERICS = Numerics(rtol=1e-3)
VALUES = {"n": 3000, "delta": 1e-6, "eps": 0.4, "order": 8.0}
EPS0 = 2.0
# All but the one that takes few users: tests/core/questions/test_worst_dataset.py knows it better.
ANY_USERS = {
    name: one
    for name, one in BOUNDS.items()
    if name != "enumerated" and set(one.quantities) <= set(DIVERGENCES)
}
OF_DELTA = [name for name, one in ANY_USERS.items() if "delta" in one.quantities]
# But for conversions of Rényi curves, which take seconds a point, and what has no ε₀.
SLOW = {"blanket_renyi", "clone_renyi", "stronger_clone_renyi", "girgis_upper", "original"}
OF_EPSILON = [n for n, one in ANY_USERS.items() if "epsilon" in one.quantities and n not in SLOW]


def real(x):
    return mpmath.mpf(x.numerator) / x.denominator


def reports(name, k=4, eps0=EPS0):
    if name == "original":
        return CheuZhilyaev(0.4)
    if BOUNDS[name].knows_mechanism:
        # One of them knows nothing but randomized bits.
        return Reports(sb.KRR(k=2 if name == "vector_bits_published" else k, eps0=eps0))
    return AnyMechanism(eps0)


def ask(name, quantity, eps0=EPS0, k=4, **setting):
    answer = BOUNDS[name].answer(reports(name, k, eps0), quantity, Setting(**setting), NUMERICS)
    assert not answer.shortfall
    return answer.enclosure


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("eps0", [0.5, 2.0])
def test_every_bound_against_all_datasets(k, n, eps0):
    """Of k-ary randomized response, enumerated: no upper bound is below, no lower one above.

    One that knows nothing but ε₀ bounds the worst mechanism from below, which is binary.
    """
    datasets = shuffles.all_datasets(sb.KRR(k, eps0).matrix().tolist(), n).values()
    orders = [order for pair in datasets for order in (pair, shuffles.swapped(pair))]
    largest = partial(shuffles.largest, datasets)

    def largest_renyi(order):
        with mpmath.workdps(40):
            sums = (
                mpmath.fsum(real(q) * (real(p) / real(q)) ** order for p, q in pair)
                for pair in orders
            )
            return max(mpmath.log(one) for one in sums) / (order - 1)

    for name, bound in BOUNDS.items():
        if (
            name == "original"
            or "mse" in bound.quantities
            or (k > 2 and bound.kind is Kind.CLASS_LOWER)
        ):
            continue
        question = partial(ask, name, eps0=eps0, k=k, n=n)
        sign = {Kind.UPPER: 1, Kind.UNPROVEN: 0}.get(bound.kind, -1)
        for share in (0.0, 0.3, 0.9) if "delta" in bound.quantities and sign else ():
            found, truth = question("delta", eps=share * eps0), largest(share * eps0)
            assert found.upper >= truth[0] if sign > 0 else found.lower <= truth[1], name
        for delta in (0.2, 1e-3) if "epsilon" in bound.quantities and sign else ():
            found = question("epsilon", delta=delta)
            if sign > 0:
                assert largest(found.upper)[0] <= delta, name
            elif found.lower > 0.0:
                assert largest(found.lower * (1 - 1e-9))[1] >= delta, name
        for order in (1.5, 6.0) if "renyi" in bound.quantities and sign else ():
            found, truth = question("renyi", order=order), largest_renyi(order)
            slack = 1 + mpmath.mpf(10) ** -12
            assert found.upper * slack >= truth if sign > 0 else found.lower <= truth * slack, name


@pytest.mark.parametrize(
    ("name", "quantity"), [(name, q) for name, one in ANY_USERS.items() for q in one.quantities]
)
def test_each_gives_its_quantities_and_says_what_is_missing(name, quantity):
    wanted = {key: VALUES[key] for key in QUANTITIES[quantity]}
    found = ask(name, quantity, **wanted)
    assert 0.0 <= found.lower <= found.upper < math.inf
    if quantity in ("epsilon", "renyi"):
        assert found.upper <= EPS0 * (1 + 1e-12)
    else:
        assert found.upper <= 1.0
    for missing in wanted:
        with pytest.raises(ValueError, match=f"^{missing} is missing$"):
            ask(name, quantity, **{k: v for k, v in wanted.items() if k != missing})


@pytest.mark.parametrize("name", OF_DELTA)
@pytest.mark.parametrize(("eps0", "n"), [(0.5, 2000), (2.0, 300), (2.0, 10**6), (4.0, 10**5)])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_epsilon_and_delta_are_inverse_to_each_other(name, eps0, n, delta):
    """Just below ε the bound exceeds δ; at ε, and above, it does not.

    With D the exact bound: D(lower·(1 − x)) ≥ δ and D(upper) ≤ δ, where an enclosure of D may not
    contradict either.
    """
    eps = ask(name, "epsilon", eps0, n=n, delta=delta)
    if eps.upper < eps0:
        assert ask(name, "delta", eps0, n=n, eps=eps.upper).lower <= delta
        assert ask(name, "delta", eps0, n=n, eps=eps.upper * 1.01).lower <= delta
    if eps.lower > 0.0:
        assert ask(name, "delta", eps0, n=n, eps=eps.lower * (1 - 1e-9)).upper >= delta
        assert ask(name, "delta", eps0, n=n, eps=eps.lower * 0.99).upper >= delta


@pytest.mark.parametrize("name", OF_DELTA)
def test_delta_falls_with_eps_and_n(name):
    over_eps = [ask(name, "delta", n=3000, eps=eps) for eps in (0.0, 0.1, 0.3, 0.6, 1.0, 1.5)]
    over_n = [ask(name, "delta", n=n, eps=0.4) for n in (1, 30, 1000, 30_000, 10**6)]
    for found in (over_eps, over_n):
        for more, less in itertools.pairwise(found):
            assert less.lower <= more.upper


@pytest.mark.parametrize("quantity", DIVERGENCES)
def test_every_upper_bound_is_above_every_lower_bound(quantity):
    wanted = {key: VALUES[key] for key in QUANTITIES[quantity]}
    found = {
        name: ask(name, quantity, **wanted)
        for name, one in ANY_USERS.items()
        if quantity in one.quantities
    }
    for name, one in found.items():
        if BOUNDS[name].kind is Kind.UPPER:
            assert one.upper >= found["lower"].lower
            # That of all datasets may be smaller than what any decomposition proves.
            assert name == "best" or one.upper >= found["blanket"].lower


@pytest.mark.parametrize("name", OF_EPSILON)
@pytest.mark.parametrize("eps0", [0.05, 2.0])
def test_epsilon_falls_with_n_and_delta_and_is_at_most_eps0(name, eps0):
    def chain(settings):
        return [ask(name, "epsilon", eps0, n=n, delta=delta) for n, delta in settings]

    over_n = chain((n, 1e-5) for n in (1, 10, 10**3, 10**6, 10**9, 10**14))
    over_delta = chain((10**6, delta) for delta in (1e-200, 1e-20, 1e-9, 1e-4, 9e-3))
    for earlier, later in [*itertools.pairwise(over_n), *itertools.pairwise(over_delta)]:
        assert later.lower <= earlier.upper
    assert max(one.upper for one in (*over_n, *over_delta)) <= eps0 * (1 + 1e-12)
