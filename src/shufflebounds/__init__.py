"""What shuffling gives: certified (ε, δ) bounds for shuffled local randomizers."""

from shufflebounds._version import __version__
from shufflebounds.amplification import delta, epsilon
from shufflebounds.clone import standard_clone
from shufflebounds.composition import Joint, Parallel, Subsampled
from shufflebounds.decomposition import Decomposition, parallel, subsample
from shufflebounds.enclosure import Enclosure, Enclosures, PrecisionError
from shufflebounds.planning import fewest_users, largest_eps0
from shufflebounds.randomizers.blh import BLH
from shufflebounds.randomizers.hadamard import HadamardResponse
from shufflebounds.randomizers.krr import KRR
from shufflebounds.randomizers.laplace import Laplace
from shufflebounds.randomizers.oue import OUE
from shufflebounds.randomizers.rappor import RAPPOR

__all__ = [
    "BLH",
    "KRR",
    "OUE",
    "RAPPOR",
    "Decomposition",
    "Enclosure",
    "Enclosures",
    "HadamardResponse",
    "Joint",
    "Laplace",
    "Parallel",
    "PrecisionError",
    "Subsampled",
    "__version__",
    "delta",
    "epsilon",
    "fewest_users",
    "largest_eps0",
    "parallel",
    "standard_clone",
    "subsample",
]
