"""The bound for all datasets of Laplace noise on [0, 1]: Lemmas L1 to L3."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import examples

import shufflebounds as sb
from shufflebounds.core.datasets import both_directions
from shufflebounds.core.enclosure import reached
from shufflebounds.divergence.supremum import supremum
from shufflebounds.randomizers.laplace import _Cover, _grid

numbers = st.integers(0, 10**6).map(lambda k: k / 1e6)


def masses(x, eps0, edges):
    """Of R(x) between the edges, and beyond the first and the last."""
    below = np.where(
        edges < x,
        0.5 * np.exp(-eps0 * np.abs(edges - x)),
        1.0 - 0.5 * np.exp(-eps0 * np.abs(edges - x)),
    )
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def between(x, low, up, eps0):
    """The weights of R(low), R(up) and B_x in R(x)."""
    whole = math.sinh(eps0 * (up - low))
    alpha, beta = math.sinh(eps0 * (up - x)) / whole, math.sinh(eps0 * (x - low)) / whole
    return alpha, beta, 1.0 - alpha - beta


@given(eps0=st.floats(0.1, 10.0), low=st.floats(0.0, 0.8), width=st.floats(0.01, 0.2), at=numbers)
def test_an_input_is_a_mixture_of_its_neighbours_and_what_lies_between(eps0, low, width, at):
    up = low + width
    x = low + at * width
    edges = np.union1d(np.linspace(-0.5, 1.5, 301), [low, up])
    alpha, beta, gamma = between(x, low, up, eps0)
    rest = (
        masses(x, eps0, edges) - alpha * masses(low, eps0, edges) - beta * masses(up, eps0, edges)
    )
    inside = np.concatenate([[False], (edges[:-1] >= low) & (edges[1:] <= up), [False]])
    assert np.abs(rest[~inside]).max() < 1e-12
    assert rest.min() > -1e-12
    assert rest.sum() == pytest.approx(gamma, abs=1e-12)
    p = eps0 * width / 2.0
    assert gamma <= 1.0 - 1.0 / math.cosh(p) + 1e-12
    weight = gamma / math.tanh(p) ** 2
    assert min(alpha, beta) - weight / (2.0 * math.cosh(p) ** 2) > -1e-9


def furthest(x, low, up, eps0, edges):
    """V_x."""
    alpha, beta, gamma = between(x, low, up, eps0)
    ends = [masses(one, eps0, edges) for one in (low, up)]
    alone = (masses(x, eps0, edges) - alpha * ends[0] - beta * ends[1]) / gamma
    p = eps0 * (up - low) / 2.0
    return sum(ends) / (2.0 * math.cosh(p) ** 2) + math.tanh(p) ** 2 * alone


def is_post_processing(rows, wanted):
    """Whether some channel makes of every row what is wanted: Blackwell, as a linear program.

    What is missing in a row is missing in what is wanted.
    """
    inputs, outputs = rows.shape[1], wanted.shape[1]
    made = np.concatenate([np.kron(row, np.eye(outputs)) for row in rows])
    sums = np.kron(np.eye(inputs), np.ones(outputs))
    found = linprog(
        np.zeros(inputs * outputs),
        A_eq=np.concatenate([made, sums]),
        b_eq=np.concatenate([wanted.ravel(), np.ones(inputs)]),
        options={"primal_feasibility_tolerance": 1e-9},
    )
    return found.status == 0


@pytest.mark.parametrize("eps0", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("at", [0.03, 0.4, 0.5, 0.85])
def test_what_is_between_two_points_is_a_post_processing_of_the_crowd(eps0, at):
    grid = _grid(eps0)
    cell = len(grid) // 2 - 1
    low, up = grid[cell], grid[cell + 1]
    x = low + at * (up - low)
    cover = _Cover(eps0, 1, grid)
    crowd = cover.crowd((cell, cell + 1), (0, 0))
    edges = np.union1d(grid, np.linspace(low, up, 9))
    kept = [law.law for law in crowd.others.values()]
    wanted = [
        masses(one, eps0, edges) * (1.0 - law[-1]) for one, law in zip(grid, kept, strict=True)
    ]
    rows = np.array([crowd.a, crowd.b, *kept])[:, :-1]
    targets = [furthest(x, low, up, eps0, edges), masses(0.0, eps0, edges), *wanted]
    assert is_post_processing(rows, np.array(targets))
    # Not of what has more in common.
    assert not is_post_processing(
        np.array([0.5 * (rows[0] + rows[1]), *rows[1:]]), np.array(targets)
    )


@pytest.mark.parametrize(("first", "second"), [(0.2, 0.7), (0.5, 0.55), (0.9, 0.1)])
def test_two_inputs_of_a_cell_are_a_post_processing_for_some_overlap(first, second):
    eps0, grid = 2.0, _grid(2.0)
    cell = len(grid) // 2 - 1
    low, up = grid[cell], grid[cell + 1]
    cover, edges = _Cover(eps0, 1, grid), np.union1d(grid, np.linspace(low, up, 7))
    inputs = [low + at * (up - low) for at in (first, second)]
    victims = [furthest(x, low, up, eps0, edges) for x in inputs]
    crowd = cover.crowd((cell, cell + 1), (cell, cell + 1))
    kept = [law.law for law in crowd.others.values()]
    wanted = [
        masses(one, eps0, edges) * (1.0 - law[-1]) for one, law in zip(grid, kept, strict=True)
    ]
    # All masses of extremes mixed, with a weight for each: some overlap makes both inputs.
    found = False
    for share in np.linspace(0.0, 1.0, 21):
        one = cover._crowd((cell, cell + 1), (cell, cell + 1), (share, share))
        rows = np.array([one.a, one.b, *(law.law for law in one.others.values())])[:, :-1]
        found = found or is_post_processing(rows, np.array([*victims, *wanted]))
    assert found
    assert len(crowd.extremes) == 4


pairs = {
    "eps0": st.floats(0.3, 6.0),
    "inputs": st.tuples(numbers, numbers).filter(lambda xs: xs[0] != xs[1]),
    "others": numbers,
    "n": st.sampled_from([30, 300, 3000, 10**5]),
    "typical": st.floats(0.2, 6.0),
}


def attained(eps0, inputs, others, n, typical):
    """ε, and a lower end of δ, where the others hold one input, from reports in bins."""
    both = sb.MetricLaplace(eps0, *inputs, cells=40)._dataset_pair(others)
    binned = sb.Decomposition(both.a, both.b, both.c, both.rel_err)
    variance = float(((binned.a - binned.b) ** 2 / binned.c).sum())
    eps = typical * math.sqrt(variance / n)
    return eps, reached(partial(sb.delta, binned, eps, n, rtol=0.01)).lower


@examples(40)
@given(**pairs)
def test_no_inputs_of_the_continuum_exceed_it(eps0, inputs, others, n, typical):
    """None of these is a point of the grid."""
    eps, found = attained(eps0, inputs, others, n, typical)
    crowds = both_directions(sb.Laplace(eps0, domain="interval").crowds())
    assert any(supremum(crowd, eps, n) >= found for crowd in crowds)


@examples(40)
@given(**pairs)
def test_no_others_of_the_continuum_exceed_that_of_two_inputs(eps0, inputs, others, n, typical):
    eps, found = attained(eps0, inputs, others, n, typical)
    crowds = sb.MetricLaplace(eps0, *inputs).crowds()
    assert max(supremum(crowd, eps, n) for crowd in both_directions(crowds)) >= found


@pytest.mark.parametrize(("eps0", "n"), [(1.0, 1000), (4.0, 1000), (4.0, 10**5)])
def test_it_meets_the_lower_end(eps0, n):
    found = sb.mechanism_epsilon(sb.Laplace(eps0, domain="interval"), n, 1e-6)
    assert found.upper_bound == "all datasets"
    assert found.enclosure.upper <= 1.003 * found.enclosure.lower


@pytest.mark.parametrize("eps0", [1e-3, 0.7, 4.0, 10.0])
def test_crowds_are_laws_that_mirror(eps0):
    grid = _grid(eps0)
    assert [1.0 - x for x in reversed(grid)] == grid
    for crowd in sb.Laplace(eps0, domain="interval").crowds():
        for one in (crowd, *crowd.extremes):
            for law in (one.a, one.b, *(held.law for held in one.others.values())):
                assert law.sum() == pytest.approx(1.0, abs=1e-12)
            if one.symmetric:
                others = [held.law for held in one.others.values()]
                here = np.stack([one.a, one.b, one.c, *others])
                # The same columns in another order, by a linear form that tells them apart.
                form = np.sqrt(np.arange(2.0, 2.0 + len(here)))
                exchanged = [[one.b, one.a, one.c, *some] for some in (others, others[::-1])]
                assert any(
                    np.allclose(np.sort(form @ here), np.sort(form @ np.stack(rows)), atol=1e-14)
                    for rows in exchanged
                )
    assert sb.Laplace(11.0, domain="interval").crowds() == ()
