"""Problems of few components, for the ε at δ of a problem of many.

Continuous randomizers and their joints have thousands of components, of which few matter near the
ε in question. There the inner decomposition has a shorter one that is hardly smaller, and the outer
decomposition a shorter one that is hardly larger (`divergence.strips`). Both bound D at every ε,
whether the guess of that ε was good or not.
"""

from __future__ import annotations

from shufflebounds.accounting.problem import Problem
from shufflebounds.accounting.root_search import Start
from shufflebounds.divergence.strips import Focus, sketch, spread, united

# Components beyond which a problem is reduced. Speed only (benchmarks/deployer_grid.py, "Laplace").
MAX_COMPONENTS = 500
# Relative width of the ε of a sketch, near which a reduced problem is accurate.
SKETCH_RTOL = 1e-2
# Error of log D at that ε.
SKETCH_DOUBT = 0.1
# Share of the requested relative width of ε that the reduction may cost.
REDUCTION_SHARE = 0.03


def has_many_components(problem: Problem) -> bool:
    """Return whether a problem has inner and outer decompositions of many components."""
    return not problem.is_finite() and max(map(len, problem.outer)) > MAX_COMPONENTS


def sketch_of(problem: Problem) -> Problem:
    """Return a similar problem of some hundreds of components, whose D bounds nothing."""
    sketches = [sketch(outer) for outer in problem.outer]
    return Problem(tuple((x, x) for x in sketches), problem.n)


def reduced(problem: Problem, start: Start, delta: float, rtol: float) -> Problem:
    """Return a problem of few components whose D encloses that of `problem` at every ε.

    It is accurate if the ε at `delta` is near `start` and of interest to a relative width of
    `rtol`.
    """
    # D(0) may decide, where a relative width of ε means nothing.
    loss = REDUCTION_SHARE * rtol * max(1.0, -start.slope * start.eps)
    directions = []
    for (inner, outer), likeness in zip(problem.directions, sketch_of(problem).outer, strict=True):
        focus = Focus.about(likeness, start.eps, problem.n, delta, loss)
        directions.append((united(inner, focus), spread(outer, focus)))
    return Problem(tuple(directions), problem.n)
