"""Whether a mechanism is as private as it says, as far as its blanket shows."""

from __future__ import annotations

import numpy as np

from shufflebounds.randomizers.base import Randomizer


def require_private(kind: str, made: Randomizer) -> None:
    """ValueError for a mistake in a mechanism that its blanket betrays; other bounds rely on ε₀."""
    try:
        blankets = made.blankets()
    except ValueError as error:
        raise ValueError(f"the blanket of {kind} is not a decomposition: {error}") from None
    if made.eps0 is None:
        return
    for blanket in blankets.values():
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.abs(np.log(blanket.a) - np.log(blanket.b))
        largest = np.max(losses, where=~np.isnan(losses), initial=0.0)
        # The entries' own rounding, and that of their logarithms.
        if largest > made.eps0 + 2.1 * blanket.rel_err + 1e-12 * (1.0 + made.eps0):
            raise ValueError(
                f"the blanket of {kind} must be that of an eps0-LDP randomizer, got a component "
                f"with a loss |log a/b| of {largest:.6g} at eps0 = {made.eps0!r}"
            )
