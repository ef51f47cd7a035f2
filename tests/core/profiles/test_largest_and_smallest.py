"""The largest and the smallest of several profiles, against curves that are known exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shufflebounds.core.enclosure import WorkError
from shufflebounds.profiles.profile import Ends, Max, Min, Profile


@dataclass(frozen=True, eq=False)
class PureCurve(Profile):
    """δ(ε) = (1 − e^{ε − loss})₊ of losses (P,), known to a relative width of ``slack`` at best."""

    losses: np.ndarray
    slack: float
    name: str = ""

    @property
    def end(self):
        return float(self.losses.max())

    def at(self, rows: Any):
        return replace(self, losses=self.losses[rows])

    def exact(self, eps):
        return np.maximum(-np.expm1(eps - self.losses), 0.0)

    def delta_ends(self, query):
        width, exact = np.maximum(query.rtol, self.slack), self.exact(query.at)
        return Ends.of(exact * (1.0 - width), np.minimum(exact * (1.0 + width), 1.0), self.name)

    def root_ends(self, query):
        width, exact = np.maximum(query.rtol, self.slack), self.guesses(query.at)
        return Ends.of(exact * (1.0 - width), exact * (1.0 + width), self.name)

    def estimates(self, eps):
        with np.errstate(divide="ignore"):
            return np.log(self.exact(eps))

    def guesses(self, delta):
        return np.maximum(np.log1p(-delta) + self.losses, 0.0)


curves = st.lists(
    st.tuples(
        st.lists(st.floats(0.01, 20.0), min_size=2, max_size=2), st.sampled_from([0.0, 1e-3, 0.2])
    ),
    min_size=1,
    max_size=5,
).map(lambda rows: [PureCurve(np.array(x), slack, str(i)) for i, (x, slack) in enumerate(rows)])
deltas = st.lists(st.floats(1e-9, 0.5), min_size=2, max_size=2).map(np.array)
points = st.lists(st.floats(0.0, 25.0), min_size=2, max_size=2).map(np.array)


def encloses(ends, exact):
    return (ends.lower <= exact * (1.0 + 1e-12)).all() and (
        exact <= ends.upper * (1.0 + 1e-12)
    ).all()


@given(curves, deltas, points)
def test_the_largest_of_several_curves_is_enclosed(parts, delta, eps):
    whole = Max(parts)
    roots = np.max([part.guesses(delta) for part in parts], axis=0)
    heights = np.max([part.exact(eps) for part in parts], axis=0)
    assert encloses(whole.roots(delta, 1e-4), roots)
    assert encloses(whole.deltas(eps, 1e-4), heights)
    assert whole.end == max(part.end for part in parts)


@given(curves, deltas, points)
def test_a_selection_only_lowers_the_lower_end(parts, delta, eps):
    whole = Max(parts, is_selective=True)
    roots = np.max([part.guesses(delta) for part in parts], axis=0)
    assert (whole.roots(delta, 1e-4).lower <= roots * (1.0 + 1e-12)).all()


@given(curves, deltas, points, st.floats(0.0, 1.0))
def test_no_upper_bound_of_the_smallest_of_several_curves_is_below_it(parts, delta, eps, share):
    """Whatever lower bound of the answer is given, as long as it holds."""
    whole = Min(parts)
    roots = np.min([part.guesses(delta) for part in parts], axis=0)
    heights = np.min([part.exact(eps) for part in parts], axis=0)
    assert (whole.roots(delta, 1e-4, share * roots).upper >= roots * (1.0 - 1e-12)).all()
    assert (whole.deltas(eps, 1e-4, floor=share * heights).upper >= heights * (1 - 1e-12)).all()
    exact = all(part.slack <= 1e-3 for part in parts)
    if exact:
        assert (whole.roots(delta, 1e-4).upper <= roots * 1.002).all()
        assert (whole.deltas(eps, 1e-4).upper <= heights * 1.002).all()


def test_the_smallest_is_named_and_a_tie_goes_to_the_first():
    first, second = (PureCurve(np.array([x]), 0.0, name) for x, name in ((2.0, "a"), (2.0, "b")))
    [name] = Min([first, second]).roots(np.array([0.1]), 1e-4).names
    assert name == "a"
    larger = PureCurve(np.array([2.1]), 0.0, "c")
    assert Min([first, larger]).roots(np.array([0.1]), 1e-4).names.tolist() == ["a"]
    assert Max([first, larger]).roots(np.array([0.1]), 1e-4).names.tolist() == ["c"]


def test_what_is_known_when_the_work_ends_is_kept():
    """The parts that were asked before hold."""

    class Expensive(PureCurve):
        def ends(self, query):
            raise WorkError("too much work")

    cheap, expensive = PureCurve(np.array([2.0]), 0.0), Expensive(np.array([1.0]), 0.0)
    for ask in (
        lambda profile: profile.roots(np.array([0.1]), 1e-4, 0.5),
        lambda profile: profile.deltas(np.array([0.1]), 1e-4, floor=0.5),
    ):
        known = ask(cheap)
        with pytest.raises(WorkError) as raised:
            ask(Min([expensive, cheap]))
        enclosure = raised.value.enclosure
        assert (enclosure.lower, enclosure.upper) == (0.5, known.upper[0])
