"""The worst of all datasets by enumeration: against rational arithmetic and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from shuffles import BINARY, CROOKED, TERNARY, all_datasets, divergence, largest, shuffled

import shufflebounds as sb
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import Setting
from shufflebounds.subjects.reports import Reports


@pytest.mark.parametrize("channel", [BINARY, TERNARY, CROOKED])
@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("eps", [0.0, 0.3, 1.0])
def test_delta_is_that_of_rational_arithmetic(channel, n, eps):
    found = sb.worst_dataset(sb.MatrixRandomizer(channel), n, eps=eps)
    low, high = largest(all_datasets(channel, n).values(), eps)
    assert found.enclosure.lower <= low <= high <= found.enclosure.upper
    assert found.enclosure.upper - found.enclosure.lower <= 1e-9
    assert sum(found.others) == n - 1
    others = [x for x, count in enumerate(found.others) for _ in range(count)]
    attained = divergence(shuffled(channel, *found.victim, others), eps)[0]
    assert float(attained) == pytest.approx(float(low), rel=1e-9, abs=1e-12)


def test_unequal_others_are_found():
    found = sb.worst_dataset(sb.MatrixRandomizer([[0.7, 0.3], [0.3, 0.7]]), 3, eps=0.0)
    assert found.others == (1, 1)
    assert found.enclosure.upper == pytest.approx(0.232)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_epsilon_is_where_delta_is_met(n):
    mechanism, delta = sb.KRR(2, 1.5), 0.01
    found = sb.worst_dataset(mechanism, n, delta=delta)
    low, high = found.enclosure.lower, found.enclosure.upper
    assert found.enclosure.relative_width <= 1e-5
    assert sb.worst_dataset(mechanism, n, eps=high).enclosure.upper <= delta
    assert sb.worst_dataset(mechanism, n, eps=low * (1.0 - 1e-5)).enclosure.upper >= delta
    own = sb.epsilon(mechanism, n, delta)
    assert own.lower <= high
    assert low <= own.upper


def test_outputs_are_only_united_if_all_inputs_agree():
    """The last two differ for the last input alone, next to inputs that never send them."""
    rows = [[0.1, 0.1, 0.8], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.1, 0.3, 0.6]]
    found = sb.worst_dataset(sb.MatrixRandomizer(rows), 1, eps=0.0)
    # All pairs, by hand: row 1 or 2 against row 3.
    assert found.enclosure.upper == pytest.approx(0.4)
    assert found.enclosure.lower == pytest.approx(0.4)
    twice = np.hstack([np.array(rows)[:, :1], np.array(rows)])
    twice[:, :2] /= 2.0
    again = sb.worst_dataset(sb.MatrixRandomizer(twice), 3, eps=0.1).enclosure
    once = sb.worst_dataset(sb.MatrixRandomizer(rows), 3, eps=0.1).enclosure
    assert again.upper == pytest.approx(once.upper)


def test_no_epsilon_will_do_for_what_only_one_input_sends():
    found = sb.worst_dataset(sb.MatrixRandomizer([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]), 3, delta=0.1)
    assert found.enclosure.lower == math.inf


@pytest.mark.parametrize(
    ("rows", "eps", "truth"),
    [
        ([[1.0, 1e-120], [1.0, 1e-270]], 400.0, 0.0),
        ([[1.0, 1e-300], [1e-300, 1.0]], 700.0, 0.0),
        (
            [[1.0, 1e-100, 1e-300, 1e-280], [1e-280, 0.0, 1e-300, 1.0], [1e-280, 0.0, 1e-45, 1.0]],
            650.0,
            1e-100,
        ),
    ],
)
def test_what_underflows_is_no_difference(rows, eps, truth):
    found = sb.worst_dataset(sb.MatrixRandomizer(rows), 2, eps=eps).enclosure
    assert found.lower <= truth <= found.upper
    if eps < 690.0:
        assert found.upper - found.lower <= 1e-9 * truth + 1e-300


def test_an_epsilon_does_where_only_underflow_seems_to_tell():
    """Row 0 alone sends output 1, with 10⁻¹⁰⁰: all other divergence ends below ε = 650."""
    rows = [[1.0, 1e-100, 1e-300, 1e-280], [1e-280, 0.0, 1e-300, 1.0], [1e-280, 0.0, 1e-45, 1.0]]
    found = sb.worst_dataset(sb.MatrixRandomizer(rows), 2, delta=1e-46).enclosure
    assert found.upper < 650.0
    assert sb.worst_dataset(sb.MatrixRandomizer(rows), 2, delta=1e-101).enclosure.lower == math.inf


def test_rows_that_agree_tell_nothing():
    mechanism = sb.MatrixRandomizer([[0.3, 0.7], [0.3, 0.7]])
    assert sb.worst_dataset(mechanism, 4, eps=0.1).enclosure.upper <= 1e-300
    assert sb.worst_dataset(mechanism, 4, delta=0.1).enclosure == sb.Enclosure(0.0, 0.0)


def test_it_is_a_bound_of_the_registry():
    protocol, setting = Reports(sb.KRR(2, 1.5)), Setting(n=5, delta=0.01)
    answer = BOUNDS["enumerated"].answer(protocol, "epsilon", setting)
    assert answer.enclosure == sb.worst_dataset(sb.KRR(2, 1.5), 5, delta=0.01).enclosure
    assert answer.others in ("4 0", "0 4")
    with pytest.raises(ValueError, match="rounds must be 1"):
        BOUNDS["enumerated"].answer(protocol, "epsilon", setting.at(rounds=2))


def test_what_cannot_be_enumerated_is_refused():
    for given in ({"eps": 0.1, "delta": 0.1}, {}):
        with pytest.raises(ValueError, match="exactly one of eps and delta"):
            sb.worst_dataset(sb.KRR(2, 1.0), 3, **given)
    with pytest.raises(ValueError, match="n must be small enough to enumerate"):
        sb.worst_dataset(sb.KRR(10, 1.0), 100, eps=0.1)
    with pytest.raises(ValueError, match="n must be small enough to enumerate"):
        sb.worst_dataset(sb.KRR(80, 1.0), 1, eps=0.1)
    with pytest.raises(ValueError, match=r"matrix\(\)"):
        sb.worst_dataset(sb.Laplace(1.0), 3, eps=0.1)
