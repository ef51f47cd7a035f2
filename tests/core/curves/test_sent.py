"""What a user sends: reports and messages as configurations describe them, once and many times."""

from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
import pytest
from engines import overlap
from specifications import specification

import shufflebounds as sb
from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.divergences import divergence_bound, seen_pairs
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import OverN, Setting
from shufflebounds.curves import curve
from shufflebounds.curves import specification as specifications
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols import registry
from shufflebounds.protocols.messages import BallsIntoBins
from shufflebounds.protocols.registry import Entry
from shufflebounds.subjects.base import ANY_AIM, GivenSource, Shuffle, Subject

NAME = CurveName("experiment", "regime", "curve")
KRR = {"type": "krr", "k": 10}
BINS = {"type": "balls_into_bins", "bins": 40, "blankets": 3}


def enclosures(**changes):
    return [
        point.answer.enclosure for point in curve.compute(NAME, specification(**changes)).points
    ]


@pytest.mark.parametrize("bound", ["blanket", "lower", "clone"])
def test_a_curve_along_rounds_is_that_of_compositions(bound):
    R = sb.KRR(10, 2.0)
    pair = {
        "blanket": R.blanket(),
        "lower": R.dataset_pair(),
        "clone": sb.standard_clone(2.0),
    }[bound]
    found = enclosures(bound=bound, mechanism=KRR, eps0=2.0, x={"rounds": [1, 2, 30]}, n=10_000)
    wanted = [sb.compose([(pair, 10_000, times)]).epsilon(1e-6) for times in (1, 2, 30)]
    for one, other in zip(found, wanted, strict=True):
        assert overlap(one, other)
    # One round has the width that curves are asked for.
    assert found[0].relative_width <= 1e-4
    assert found[1].relative_width <= 1e-3
    assert found[2].lower > 3.0 * found[0].upper


@pytest.mark.parametrize(
    "name", [n for n, one in BOUNDS.items() if not one.composes and "epsilon" in one.quantities]
)
def test_formulas_of_one_round_refuse_several(name):
    bound = BOUNDS[name]
    chosen = {"type": "cheu_zhilyaev", "flip": 0.4} if name == "original" else KRR
    chosen = {**KRR, "k": 3} if name == "enumerated" else chosen
    protocol = registry.parse_sent(chosen).protocol(Setting(eps0=1.0))
    ask = partial(bound.answers, protocol, "epsilon")
    n = 3 if name == "enumerated" else 1000
    assert ask([Setting(n=n, delta=1e-6, rounds=1)]) == ask([Setting(n=n, delta=1e-6)])
    with pytest.raises(ValueError, match=f"^rounds must be 1 for the bound {name}, got 2$"):
        ask([Setting(n=n, delta=1e-6, rounds=2)])


BLANKETS = {str(k): sb.KRR(k, 1.0).blanket() for k in (2, 3)}


@dataclass(frozen=True)
class Several(Subject):
    """Several pairs of inputs may be the worst."""

    eps0: float = 1.0

    def shuffles(self, n, aim=ANY_AIM):
        return [Shuffle(GivenSource(BLANKETS, eps0=self.eps0), n)]


@dataclass(frozen=True)
class Tree(Subject):
    """Two kinds of shuffles, one of them three times."""

    eps0: None = None

    def shuffles(self, n, aim=ANY_AIM):
        (once,) = BallsIntoBins(bins=40).shuffles(n)
        (often,) = BallsIntoBins(bins=20).shuffles(2 * n)
        return [once, often._replace(times=3)]


def test_the_worst_pair_may_be_another_in_every_round():
    ask = partial(BOUNDS["blanket"].answers, Several(), "epsilon")
    setting = Setting(n=1000, delta=1e-6)
    (once,) = ask([setting])
    assert once.enclosure.lower > 0.0
    (twice,) = ask([setting.at(rounds=2)])
    alone = [sb.compose([(blanket, 1000, 2)]) for blanket in BLANKETS.values()]
    assert twice.enclosure.upper >= max(one.epsilon(1e-6).upper for one in alone)
    # A lower bound is that of any of them.
    several = divergence_bound(
        "several",
        Kind.LOWER,
        seen_pairs(lambda pairs: pairs),
        label="",
        source="",
    )
    (twice,) = several.answers(Several(), "epsilon", [setting.at(rounds=2)])
    assert twice.enclosure.lower >= 0.999 * max(one.epsilon(1e-6).lower for one in alone)


def test_a_protocol_of_several_kinds_of_shuffles_is_composed():
    setting = Setting(n=5000, delta=1e-6, rounds=2)
    answer = BOUNDS["blanket"].answer(Tree(), "epsilon", setting)
    rounds = [
        (BallsIntoBins(bins=40).decomposition(), 5001, 2),
        (BallsIntoBins(bins=20).decomposition(), 10_001, 6),
    ]
    wanted = sb.compose(rounds).epsilon(1e-6)
    assert answer.enclosure == wanted


def test_a_protocol_is_a_mechanism_of_curves():
    made = specification(mechanism=BINS, eps0=None, x={"n": [1000, 2000]})
    assert specifications.needed("epsilon", made.reports) == {"n", "delta"}
    assert specifications.read(made.text()) == made
    made.check()
    decomposition = BallsIntoBins(bins=40, blankets=3).decomposition()
    for point, n in zip(curve.compute(NAME, made).points, (1000, 2000), strict=True):
        wanted = sb.epsilon(decomposition, n=3 * n + 1, delta=1e-6)
        assert max(point.answer.enclosure.lower, wanted.lower) <= min(
            point.answer.enclosure.upper, wanted.upper
        )
    (first, _) = curve.rows(curve.compute(NAME, made))
    cells = dict(zip(curve.columns("epsilon"), first, strict=True))
    assert cells["mechanism"] == "balls_into_bins(bins=40, blankets=3)"
    assert cells["eps0"] is None


def test_an_infinite_epsilon_is_a_value(tmp_path):
    """All other balls miss the victim's bin more often than δ allows."""
    made = specification(mechanism=BINS | {"bins": 10**6}, eps0=None, x={"n": [10]})
    found = curve.compute(NAME, made)
    curve.write(found, tmp_path / "curve.csv")
    curve.verify(tmp_path / "curve.csv", NAME, made)
    assert curve.read(tmp_path / "curve.csv")["epsilon_lower"].tolist() == [np.inf]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mechanism": {"type": "balls_into_bins"}}, "bins is missing; balls_into_bins needs: "),
        ({"mechanism": BINS | {"bin": 3}}, r"bin is not a parameter .* \(did you mean bins\?\)"),
        ({"mechanism": BINS, "k_joint": 2}, "k_joint must be 1 for the protocol balls_into_bins"),
        (
            {"mechanism": BINS, "x": {"eps0": [1.0]}, "n": 100},
            "x must be one of delta, n, rounds for the quantity epsilon, got eps0",
        ),
    ],
)
def test_bad_protocols_are_refused_in_one_sentence(changes, message):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        specification(**changes)
    assert "\n" not in str(caught.value)


def test_bounds_of_eps0_alone_refuse_a_protocol_without():
    with pytest.raises(ValueError, match="needs a randomizer with an eps0"):
        enclosures(mechanism=BINS, bound="clone")


@pytest.fixture
def designed(monkeypatch):
    """Balls into bins for a target: its number of users follows from it."""

    def make(bins: int, target: float, delta: float) -> BallsIntoBins:
        return BallsIntoBins(bins=bins)

    def users(bins: int, target: float, delta: OverN) -> int:
        return round(bins / target)

    entry = Entry(make, "designed", needs=("target", "delta"), users=users)
    known = MappingProxyType({**registry.PROTOCOLS, "designed": entry})
    monkeypatch.setattr(registry, "PROTOCOLS", known)


def test_users_may_follow_from_what_a_protocol_was_designed_for(designed):
    made = specification(
        mechanism={"type": "designed", "bins": 40},
        eps0=None,
        n=None,
        delta=OverN(0.01),
        x={"target": [0.5, 0.01]},
    )
    assert specifications.needed("epsilon", made.reports) == {"delta", "target"}
    assert [(one.n, one.delta) for one in made.settings] == [(80, 0.01 / 80), (4000, 0.01 / 4000)]
    for point in curve.compute(NAME, made).points:
        n, delta = point.setting.n, point.setting.delta
        wanted = sb.epsilon(BallsIntoBins(bins=40).decomposition(), n=n + 1, delta=delta)
        assert point.answer.enclosure == wanted or np.isclose(
            point.answer.enclosure.upper, wanted.upper, rtol=2e-4
        )
