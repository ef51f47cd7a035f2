"""A costly upper profile at many ε of one curve: chords between few of them.

Every D is convex in e^ε, and so is the largest of several. So a chord between two upper bounds is
an upper bound (docs/proofs/closing-the-gap.md, section 8).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from shufflebounds.core.products import FloatArray, U
from shufflebounds.profiles.profile import Ends, Profile, Query

# Largest number of nodes of a curve that are all asked.
FEW_NODES = 6
# Number of knots of more nodes.
MAX_KNOTS = 30
# Relative width that bounds at knots aim at.
KNOT_RTOL = 0.003


@dataclass(frozen=True, eq=False)
class Chords(Profile):
    """Upper bounds of a profile for `n` users, (P,), with few knots if all n are the same.

    ``most_knots`` is the number of knots, and ``knots`` maps n to the bounds that are known by ε.
    """

    profile: Profile
    n: FloatArray
    most_knots: int = MAX_KNOTS
    knots: dict[int, dict[float, float]] = field(default_factory=dict)
    is_costly: bool = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """See `Profile`."""
        return self.profile.name

    @property
    def end(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return self.profile.end

    def at(self, rows: Any) -> Self:
        """See `Profile`."""
        return replace(self, profile=self.profile.at(rows), n=self.n[rows])

    def delta_ends(self, query: Query) -> Ends:
        """See `Profile`; the lower ends are 0 where chords are the bound."""
        eps = query.at
        if eps.size <= FEW_NODES or np.ptp(self.n) > 0.0:
            return self.profile.ends(query)
        nodes, first = np.unique(eps, return_index=True)
        known = self.knots.setdefault(int(self.n[0]), {})
        places = np.unique(np.linspace(0.0, nodes.size - 1.0, self.most_knots).round().astype(int))
        if known:
            # These extend what is known to all nodes.
            is_outside = (nodes[[0, -1]] < min(known)) | (nodes[[0, -1]] > max(known))
            places = np.array([0, nodes.size - 1])[is_outside]
        for place in places.tolist():
            row = first[[place]]
            bound = self.profile.at(row).deltas(eps[row], KNOT_RTOL, floor=query.floor[row])
            known[float(nodes[place])] = float(bound.upper[0])
        upper = chords(np.array(sorted(known.items())).T, eps)
        return Ends.of(np.zeros(eps.shape), upper, self.name)

    def root_ends(self, query: Query) -> Ends:
        """See `Profile`."""
        return self.profile.ends(query)

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`."""
        return self.profile.estimates(eps)

    def guesses(self, delta: FloatArray) -> FloatArray:
        """See `Profile`."""
        return self.profile.guesses(delta)


def chords(knots: FloatArray, eps: FloatArray) -> FloatArray:
    """Return bounds at `eps` from those at knots, shape (2, K), as D is convex in e^ε."""
    places, values = knots
    right = np.clip(np.searchsorted(places, eps), 1, places.size - 1)
    low, high = places[right - 1], places[right]
    width = np.expm1(high - low)
    share = np.clip(np.expm1(eps - low) / width, 0.0, 1.0)
    rounding = 16.0 * U * (1.0 + eps) / width
    upper = (1.0 - share + rounding) * values[right - 1] + (share + rounding) * values[right]
    return np.where(share == 0.0, values[right - 1], np.where(share == 1.0, values[right], upper))
