"""Published bounds that are not the divergence of a decomposition, by name.

Every ε is capped at ε₀: shuffled reports of an ε₀-LDP randomizer are ε₀-DP, whatever else is known.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure

# The module of this package that holds a baseline, as a function of the baseline's name. A module
# is imported only when it is asked for, so that a result depends on the formulas it used alone.
BASELINES: Mapping[str, str] = MappingProxyType(
    {
        "blanket_hoeffding": "blanket_hoeffding",
        "blanket_hoeffding_generic": "blanket_hoeffding",
        "blanket_bennett": "blanket_bennett",
        "blanket_bennett_generic": "blanket_bennett",
        "clone_closed_form": "closed_forms",
        "erlingsson": "closed_forms",
    }
)

# Those that know the randomizer; the others know ε₀ alone.
SPECIFIC = frozenset({"blanket_hoeffding", "blanket_bennett"})


def module_of(name: str) -> str:
    """Dotted name of the module that holds a baseline; ValueError for an unknown one."""
    return f"{__name__}.{BASELINES[validation.choice('baseline', name, BASELINES)]}"


def epsilon(name: str, *, blanket: Decomposition, eps0: float, n: int, delta: float) -> Enclosure:
    """The smallest ε in [0, ε₀] at which a baseline is at most δ, and ε₀ where there is none.

    Parameters
    ----------
    name
        One of `BASELINES`.
    blanket
        The randomizer's blanket. Only those in `SPECIFIC` look at it.
    eps0
        Local privacy parameter of a whole report, natural log.
    n
        Number of users.
    delta
        Target δ, a probability.

    Raises
    ------
    ValueError
        For an unknown baseline or an argument out of range.

    """
    module = importlib.import_module(module_of(name))
    if not isinstance(blanket, Decomposition):
        raise ValueError(f"blanket must be a Decomposition, got {blanket!r}")
    return getattr(module, name)(
        blanket=blanket,
        eps0=validation.eps0(eps0),
        n=validation.users(n),
        delta=validation.delta(delta),
    )
