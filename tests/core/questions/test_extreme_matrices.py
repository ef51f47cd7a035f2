"""Matrices at the limits of floats through every public question, and against fractions."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from shuffles import all_datasets, largest, swapped
from strategies import FUZZ, examples

import shufflebounds as sb
from shufflebounds.core import work
from shufflebounds.core.enclosure import reached

EPS = st.sampled_from([0.0, 1e-12, 0.3, 2.0, 30.0, 400.0, 690.0, 800.0])
DELTA = st.sampled_from([1e-300, 1e-46, 1e-14, 1e-6, 0.01, 0.5])
ENTRIES = [
    st.floats(0.05, 1.0),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([0.0, 1e-300, 1e-280, 1e-170, 1e-45, 1e-10, 0.3, 1.0]),
]


@st.composite
def matrices(draw, most=4):
    """Rows with zeros, of many decades, next to each other, of ten digits, and of sums off 1."""
    inputs, outputs = draw(st.integers(2, most)), draw(st.integers(2, most))
    entry = draw(st.sampled_from(ENTRIES))
    row = st.lists(entry, min_size=outputs, max_size=outputs).filter(any)
    rows = np.array(draw(st.lists(row, min_size=inputs, max_size=inputs)))
    if draw(st.integers(0, 3)) == 0:
        tilts = st.lists(st.floats(0.0, 1.0), min_size=inputs, max_size=inputs)
        size = draw(st.sampled_from([1e-3, 1e-9, 1e-16]))
        rows = rows[:1] * (1.0 + size * np.outer(draw(tilts), np.linspace(0.0, 1.0, outputs)))
    rows /= rows.sum(axis=1, keepdims=True)
    if draw(st.booleans()):
        rows = np.round(rows, 10)
    rows[:: draw(st.sampled_from([1, 2]))] *= 1.0 + draw(st.sampled_from([0.0, 0.0, 8e-10, -8e-10]))
    rows = np.where(rows > 0.0, np.maximum(rows, 1e-300), 0.0)
    assume(all(abs(math.fsum([-1.0, *row])) <= 1e-9 for row in rows.tolist()))
    return sb.MatrixRandomizer(rows)


def first(randomizer):
    """A blanket: curves of a randomizer take minutes where losses reach from 0 to 690."""
    return next(iter(randomizer.blankets().values()))


def is_wide(decomposition):
    """Whether losses reach so far that curves of several rounds take minutes."""
    both = (decomposition.a > 0.0) & (decomposition.b > 0.0)
    losses = np.log(decomposition.a[both]) - np.log(decomposition.b[both])
    return bool(np.abs(losses).max(initial=0.0) > 20.0)


def curve(decomposition, n):
    found = sb.profile(decomposition, n, density=4.0, smallest=1e-6)
    tests = found.false_negatives(0.0), found.false_negatives(0.3)
    return [found.delta(-1.0), found.delta(0.3), found.epsilon(0.1), *tests]


QUESTIONS = {
    "eps0": lambda of, n, eps, delta: [sb.Enclosure(0.0, of.eps0)],
    "delta": lambda of, n, eps, delta: [sb.delta(of, eps, n)],
    "epsilon": lambda of, n, eps, delta: [sb.epsilon(of, n, delta)],
    "arrays": lambda of, n, eps, delta: sb.epsilon(of, np.array([n, 10 * n]), delta),
    "advantage": lambda of, n, eps, delta: [sb.advantage(of, n)],
    "profile": lambda of, n, eps, delta: curve(first(of), n),
    "renyi": lambda of, n, eps, delta: [sb.renyi(of, min(n, 10), 2.0)],
    "renyi_epsilon": lambda of, n, eps, delta: [sb.renyi_epsilon(of, min(n, 3), delta)],
    "rounds": lambda of, n, eps, delta: [sb.delta(first(of), eps, n, rounds=3)],
    "compose": lambda of, n, eps, delta: [
        sb.compose([(first(of), n, 2), (first(of), 2, 1)]).epsilon(delta)
    ],
    "fewest_users": lambda of, n, eps, delta: [sb.fewest_users(first(of), eps, delta)],
    "most_rounds": lambda of, n, eps, delta: [sb.most_rounds(first(of), 0.0, delta, n)],
    "worst_delta": lambda of, n, eps, delta: [sb.worst_delta(of.blankets(), eps, n)[1]],
    "best_lower": lambda of, n, eps, delta: [sb.best_lower_delta(of.dataset_pairs(), eps, n)[1]],
    "worst_dataset": lambda of, n, eps, delta: [
        sb.worst_dataset(of, min(n, 4), delta=delta).enclosure,
        sb.worst_dataset(of, min(n, 4), eps=eps).enclosure,
    ],
    "subsampled": lambda of, n, eps, delta: [sb.epsilon(sb.Subsampled(of, 0.1), n, delta)],
    "joint": lambda of, n, eps, delta: [sb.delta(first(of).joint(first(of)), eps, n)],
}


# What samples D all along the losses.
CURVES = ("profile", "rounds", "compose", "most_rounds")


@pytest.fixture(autouse=True, scope="module")
def little_work():
    """What is out of reach is refused sooner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "BUDGET", 1e9)
        yield


@pytest.mark.parametrize("question", QUESTIONS)
# The same examples in every ordinary run: some others take minutes.
@settings(examples(4), derandomize=FUZZ == 1)
@given(matrices(), st.sampled_from([1, 2, 10, 100]), EPS, DELTA)
def test_every_question_has_an_answer_or_a_sentence(question, randomizer, n, eps, delta):
    if question in CURVES and is_wide(first(randomizer)):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, sentence = [], ""
        try:
            found = QUESTIONS[question](randomizer, n, eps, delta)
        except sb.PrecisionError as error:
            found = [error.enclosure]
        except ValueError as error:
            sentence = str(error)
    # Of products of masses next to 10⁻³⁰⁰.
    allowed = ("too small for floating point", "must hold masses of 0 or >= 1e-300")
    assert not sentence or any(part in sentence for part in allowed)
    assert all(one.lower <= one.upper for one in found)


def test_a_value_that_may_be_anything_warns_of_nothing():
    rows = [[0.0, 0.0, 1.0], [0.0, 1.0, 1e-130], [1e-255, 1e-255, 1.0], [1e-35, 1.0, 0.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 1.0 in sb.advantage(sb.MatrixRandomizer(rows), 1)


@settings(examples(40), derandomize=FUZZ == 1)
@given(matrices(most=3), st.integers(1, 3), EPS, DELTA)
def test_no_end_is_on_the_wrong_side_of_fractions(randomizer, n, eps, delta):
    rows = [[Fraction(x) for x in row] for row in randomizer.P.tolist()]
    datasets = list(all_datasets([[x / sum(row) for x in row] for row in rows], n).values())
    low, high = largest(datasets, eps)
    for found in (sb.worst_dataset(randomizer, n, eps=eps).enclosure, sb.delta(randomizer, eps, n)):
        assert found.lower <= high
        assert low <= found.upper
    told = max(
        sum((p for p, q in pair if not q), Fraction(0))
        for pair in itertools.chain(datasets, map(swapped, datasets))
    )
    worst = sb.worst_dataset(randomizer, n, delta=delta).enclosure
    # Next to the δ of outputs that tell, the engine may give up.
    for found in (worst, reached(partial(sb.epsilon, randomizer, n, delta))):
        if math.isinf(found.lower):
            assert told > delta
        elif found.lower > 0.0:
            assert largest(datasets, math.nextafter(found.lower, 0.0))[1] > delta
        if math.isfinite(found.upper):
            assert largest(datasets, found.upper)[0] <= delta
