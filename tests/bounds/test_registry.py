"""Every bound of the registry: what it says of itself is so, and a new one takes one line."""

import importlib
import itertools
import math
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import shufflebounds as sb
from shufflebounds.bounds import base, registry
from shufflebounds.bounds.base import QUANTITIES, Answer, Kind, Numerics, largest, smallest
from shufflebounds.bounds.formulas import closed_form
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.enclosure import Enclosure
from shufflebounds.experiments import curve, specification
from shufflebounds.protocols.cheu_zhilyaev import CheuZhilyaev
from shufflebounds.protocols.single_message import GenericReports, SingleMessage
from shufflebounds.setting import Setting

NUMERICS = Numerics(rtol=1e-3)
VALUES = {"n": 3000, "delta": 1e-6, "eps": 0.4, "order": 8.0}
EPS0 = 2.0
LOWER = ("lower", "merged_lower", "girgis_lower", "girgis_lower_simple")
# All but the one that takes few users, of which tests/test_worst_dataset.py knows more.
ANY_USERS = {name: one for name, one in BOUNDS.items() if name != "enumerated"}


def protocol(name, eps0=EPS0):
    if name == "original":
        return CheuZhilyaev(0.4)
    if BOUNDS[name].knows_mechanism:
        # One of them knows nothing but randomized bits.
        return SingleMessage(sb.KRR(k=2 if name == "vector_bits_published" else 4, eps0=eps0))
    return GenericReports(eps0)


def ask(name, quantity, eps0=EPS0, **setting):
    evaluate = BOUNDS[name].prepare(protocol(name, eps0), quantity, NUMERICS)
    [answer] = evaluate([Setting(**setting)])
    assert not answer.shortfall
    return answer.enclosure


def test_names():
    assert list(BOUNDS) == [
        "upper",
        "lower",
        "tight",
        "enumerated",
        "clone",
        "stronger_clone",
        "blanket_hoeffding",
        "blanket_hoeffding_generic",
        "blanket_bennett",
        "blanket_bennett_generic",
        "blanket_best",
        "blanket_best_generic",
        "clone_closed_form",
        "erlingsson",
        "variation_ratio",
        "variation_ratio_published",
        "variation_ratio_analytic",
        "variation_ratio_asymptotic",
        "merged_lower",
        "original",
        "basic_composition",
        "advanced_composition",
        "optimal_composition",
        "vector_bits_published",
        "clone_advanced",
        "upper_renyi",
        "clone_renyi",
        "stronger_clone_renyi",
        "girgis_reduction",
        "girgis_upper",
        "girgis_simple",
        "girgis_lower",
        "girgis_lower_simple",
    ]
    assert all(bound.name == name for name, bound in BOUNDS.items())
    assert registry.bound("clone") is BOUNDS["clone"]
    with pytest.raises(
        ValueError, match=r"^bound must be one of advanced_composition, .*, got 'best'$"
    ):
        registry.bound("best")


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=lambda bound: bound.name)
def test_each_tells_what_it_is(bound):
    kinds = dict.fromkeys(LOWER, Kind.LOWER)
    kinds |= {name: Kind.UNPROVEN for name in BOUNDS if name.startswith("variation_ratio_")}
    kinds["vector_bits_published"] = Kind.UNPROVEN
    assert bound.kind is kinds.get(bound.name, Kind.UPPER)
    assert bound.label
    assert bound.source
    assert bound.quantities
    assert set(bound.quantities) <= set(QUANTITIES)
    # It stands in one module, and nowhere else.
    module = importlib.import_module(bound.module)
    assert any(value is bound for value in vars(module).values())
    assert bound.module.startswith("shufflebounds.bounds.")
    assert (bound.candidates is not None) == bound.is_divergence


def test_labels_are_distinct():
    assert len({bound.label for bound in BOUNDS.values()}) == len(BOUNDS)


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


@pytest.mark.parametrize("name", [n for n, one in ANY_USERS.items() if "delta" in one.quantities])
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


@pytest.mark.parametrize("name", [n for n, one in ANY_USERS.items() if "delta" in one.quantities])
def test_delta_falls_with_eps_and_n(name):
    over_eps = [ask(name, "delta", n=3000, eps=eps) for eps in (0.0, 0.1, 0.3, 0.6, 1.0, 1.5)]
    over_n = [ask(name, "delta", n=n, eps=0.4) for n in (1, 30, 1000, 30_000, 10**6)]
    for found in (over_eps, over_n):
        for more, less in itertools.pairwise(found):
            assert less.lower <= more.upper


@pytest.mark.parametrize("quantity", QUANTITIES)
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
            assert name == "tight" or one.upper >= found["upper"].lower


# A bound of one's own.

TRIVIAL = closed_form(
    "trivial",
    Kind.UPPER,
    label="local privacy",
    source="post-processing",
    module=__name__,
    knows_mechanism=False,
    quantities={"epsilon": lambda _, eps0: lambda at: Enclosure(eps0, eps0)},
)


def test_a_new_bound_takes_one_line(monkeypatch, tmp_path):
    """Listed, it is known to specifications, curves and files."""
    listed = MappingProxyType({**BOUNDS, TRIVIAL.name: TRIVIAL})
    monkeypatch.setattr(registry, "BOUNDS", listed)
    made = specification.read(
        '{"quantity": "epsilon", "bound": "trivial", "mechanism": {"type": "blh"}, "k_joint": 1, '
        '"delta": 1e-06, "n": 10, "x": {"eps0": [1.0, 2.0]}}'
    )
    assert specification.read(made.text()) == made
    computed = curve.compute(curve.Name("a", "b", "c"), made)
    assert [point.answer.enclosure.upper for point in computed.points] == [1.0, 2.0]
    curve.write(computed, tmp_path / "curve.csv")
    curve.verify(tmp_path / "curve.csv", computed.name, made)
    row = curve.read(tmp_path / "curve.csv").iloc[0]
    assert (row["bound"], row["kind"]) == ("trivial", "upper")


# The worst of several pairs.


def answers():
    ends = st.tuples(st.floats(0, 10), st.floats(0, 10)).map(sorted)
    return st.builds(
        Answer,
        enclosure=ends.map(lambda pair: Enclosure(*pair)),
        differing=st.sampled_from(["1", "2", "1 2"]),
        shortfall=st.sampled_from(["", "too wide"]),
    )


@given(st.lists(answers(), min_size=1, max_size=5), st.data())
@examples(200)
def test_the_extreme_of_several_encloses_that_of_what_they_enclose(found, data):
    truths = [data.draw(st.floats(one.enclosure.lower, one.enclosure.upper)) for one in found]
    for extreme, of in ((largest, max), (smallest, min)):
        answer = extreme(found)
        assert of(truths) in answer.enclosure
        # Each end is that of some pair, and the pair named could be it.
        named = [one for one in found if one.differing == answer.differing]
        assert any(
            one.enclosure.lower <= answer.enclosure.upper
            and one.enclosure.upper >= answer.enclosure.lower
            for one in named
        )


def test_only_a_shortfall_that_matters_is_told():
    certain, wide = Answer(Enclosure(2.0, 2.1)), Answer(Enclosure(0.1, 1.0), shortfall="wide")
    assert not largest([certain, wide]).shortfall
    assert smallest([certain, wide]).shortfall == "wide"
    overlapping = Answer(Enclosure(0.1, 2.05), shortfall="wide")
    assert largest([certain, overlapping]).shortfall == "wide"


@pytest.mark.parametrize(
    ("numerics", "message"),
    [
        ({"rtol": 1.0}, "rtol must be .* got 1.0"),
        ({"rtol": "1e-4"}, "rtol must be .* got '1e-4'"),
    ],
)
def test_bad_numerics(numerics, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        base.Numerics(**numerics)
