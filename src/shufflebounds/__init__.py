"""What shuffling gives: certified (ε, δ) bounds for shuffled local randomizers."""

from shufflebounds._version import __version__
from shufflebounds.clone import standard_clone
from shufflebounds.decomposition import Decomposition, parallel, subsample
from shufflebounds.enclosure import Enclosure, PrecisionError
from shufflebounds.randomizers.krr import KRR

__all__ = [
    "KRR",
    "Decomposition",
    "Enclosure",
    "PrecisionError",
    "__version__",
    "parallel",
    "standard_clone",
    "subsample",
]
