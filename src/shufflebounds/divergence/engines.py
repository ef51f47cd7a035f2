"""The engines that compute the hockey-stick divergence at one ε, by name.

An engine is the function of its module's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence.exact import exact
from shufflebounds.divergence.fourier import saddle

Engine = Callable[[Decomposition, float, int], Enclosure]

DEFAULT = "saddle"


def fft(decomposition: Decomposition, eps: float, n: int) -> Enclosure:
    """`divergence.fft.fft`; SciPy is imported only by those who ask for it."""
    from shufflebounds.divergence import fft as module

    return module.fft(decomposition, eps, n)


# The default first. Only this one promises a width; the others are as wide as they are.
ENGINES: Mapping[str, Engine] = MappingProxyType({DEFAULT: saddle, "fft": fft, "exact": exact})
