"""D(ε) of a decomposition in one order, (a, b, c), as a profile: the leaf of all others.

`divergence.engine` encloses D at given points. Its root is found by `profiles.root_search`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.engine import divergences, few_outcomes
from shufflebounds.divergence.enumeration import RankedOutcomes
from shufflebounds.divergence.law import U
from shufflebounds.divergence.saddlepoint import log_estimate
from shufflebounds.profiles.profile import COARSE_RTOL, Ends, Interval, Max, Profile, Query
from shufflebounds.profiles.root_search import LARGEST_EPS, Probe, Search
from shufflebounds.profiles.starts import starts

# Doubt of the saddlepoint estimate of δ(0) beyond which estimates say nothing: few draws matter.
LARGEST_DOUBT = 10.0
# Share of the requested relative width for each of an inner and an outer decomposition. Both
# together add at most half of that width to the gap between the two.
GAP_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Direction(Profile):
    """D(ε) of (a, b, c) for numbers of users ``n``, shape (P,).

    ``share`` is the part of a requested relative width that its own may take. If it ``has_gap``,
    its ends stay apart whatever width is requested.
    """

    has_gap: ClassVar[bool] = False

    decomposition: Decomposition
    n: FloatArray
    name: str = ""
    share: float = 1.0

    @cached_property
    def end(self) -> float:  # type: ignore[override]
        """See `Profile`: the largest log a/b."""
        return sum(largest_loss(self.decomposition))

    @cached_property
    def end_err(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return 2.0 * largest_loss(self.decomposition)[1]

    @cached_property
    def limits(self) -> FloatArray:
        """Lower bounds of δ of each curve at every ε, (P,)."""
        return delta_limits(self.decomposition, self.n)

    @property
    def limit(self) -> float:
        """See `Profile`."""
        return float(self.limits.min())

    def at(self, rows: Any) -> Direction:
        """See `Profile`."""
        return replace(self, n=self.n[rows])

    @cached_property
    def has_rough_estimates(self) -> bool:
        """See `Profile`: if few draws matter at ε = 0, as in an epoch with little noise."""
        estimate = log_estimate(self.decomposition, 0.0, float(self.n[0]))
        is_rough = float(estimate.doubt) > LARGEST_DOUBT and float(self.n[0]) > 1.0
        return is_rough and self.few_outcomes() is None

    def few_outcomes(self) -> RankedOutcomes | None:
        """Return the outcomes for the first number of users, if they are few."""
        return few_outcomes(self.decomposition, int(self.n[0]))

    def delta_ends(self, query: Query) -> Ends:
        """See `Profile`."""
        eps, aims = query.at, self.share * query.rtol
        within = np.minimum(eps, LARGEST_EPS)
        lower, upper = divergences(
            self.decomposition, within, self.n, aims, query.target, negligible=query.floor
        )
        # D does not rise, and does not fall below its limit.
        lower = np.where(eps > LARGEST_EPS, np.minimum(self.limits, upper), lower)
        is_zero = eps >= self.end
        return Ends.of(np.where(is_zero, 0.0, lower), np.where(is_zero, 0.0, upper), self.name)

    def root_ends(self, query: Query) -> Ends:
        """See `Profile`."""
        delta, ceiling = query.at, query.ceiling
        lower, upper = np.array(ceiling), np.full(delta.shape, math.inf)
        rows = np.flatnonzero(self.limits <= delta)
        bounded = rows[np.isfinite(ceiling[rows])]
        if bounded.size:
            rough = self.at(bounded).deltas(ceiling[bounded], COARSE_RTOL, delta[bounded])
            rows = np.setdiff1d(rows, bounded[rough.lower > delta[bounded]])
        searched = self.at(rows)._searched(delta[rows], query.rtol[rows])
        for i, enclosure in zip(rows, searched, strict=True):
            lower[i], upper[i] = enclosure.lower, enclosure.upper
        return Ends.of(lower, upper, self.name)

    def _searched(self, delta: FloatArray, rtol: FloatArray) -> Iterator[Enclosure]:
        """Yield enclosures of the roots; D is evaluated at many points at once."""
        if not delta.size:
            return
        first = starts(self.decomposition, self.n, delta, min(self.end, LARGEST_EPS))
        rows = zip(delta.tolist(), first, (self.share * rtol).tolist(), strict=True)
        searches = [Search(target, start, self.end, goal) for target, start, goal in rows]
        while active := [(i, x) for i, search in enumerate(searches) for x in search.next_probes()]:
            which = np.array([i for i, _ in active])
            eps, aims = (np.array([probe[k] for _, probe in active]) for k in (0, 1))
            ends = self.at(which).deltas(eps, aims / self.share, delta[which])
            enclosures = zip(active, ends.enclosures(), strict=True)
            for i, group in groupby(enclosures, key=lambda pair: pair[0][0]):
                pairs = list(group)
                probes: list[Probe] = [probe for (_, probe), _ in pairs]
                searches[i].add(probes, [enclosure for _, enclosure in pairs])
        yield from (search.enclosure() for search in searches)

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`."""
        return log_estimate(self.decomposition, np.minimum(eps, LARGEST_EPS), self.n).log

    def guesses(self, delta: FloatArray) -> FloatArray:
        """See `Profile`."""
        first = starts(self.decomposition, self.n, delta, min(self.end, LARGEST_EPS))
        return np.array([start.eps for start in first])


def pair(decomposition: Decomposition, n: FloatArray, name: str = "") -> Interval:
    """Return the larger D(ε) of both orders of a decomposition, for P numbers of users."""
    if decomposition.is_finite():
        both = Max([Direction(inner, n, name) for inner, _ in decomposition.directions])
        return Interval(both, both, is_of_one_curve=True)
    lower, upper = (
        Max([Direction(order[end], n, name, GAP_SHARE) for order in decomposition.directions])
        for end in (0, 1)
    )
    return Interval(lower, upper, is_of_one_curve=True)


def largest_loss(decomposition: Decomposition) -> tuple[float, float]:
    """Return the largest log a/b and its largest rounding error; (inf, 0) where some b is 0."""
    a, b = (x[decomposition.a > 0.0] for x in (decomposition.a, decomposition.b))
    if not b.all():
        return math.inf, 0.0
    loss = max(0.0, float(np.max(np.log(a / b))))
    return loss, 2.1 * decomposition.rel_err + 8.0 * U * (1.0 + loss)


def delta_limits(decomposition: Decomposition, n: FloatArray) -> FloatArray:
    """Return lower bounds of D at every ε for numbers of users, from outputs with b = 0."""
    a, b, c = decomposition.a, decomposition.b, decomposition.c
    reveals, err = b == 0.0, decomposition.rel_err
    if not reveals.any():
        return np.zeros(n.shape)
    visible = float(a[reveals & (c == 0.0)].sum())
    hidden = float(a[reveals & (c > 0.0)].sum())
    outside_mass = math.fsum([1.0, *(-c[~reveals]).tolist()])
    outside_mass -= (err + 8.0 * U) * (1.0 - outside_mass) + 8.0 * U * outside_mass
    if hidden > 0.0 and outside_mass > 0.0:
        hiding = np.exp((n - 1.0) * math.log(outside_mass) * (1.0 + 1e-12))
    else:
        hiding = np.zeros(n.shape)
    return np.asarray((visible + hidden * hiding) * (1.0 - 1e-9 - err))
