"""What shuffling gives: certified (ε, δ) bounds for shuffled local randomizers."""

from shufflebounds._version import __version__
from shufflebounds.accounting.accountant import ShuffleAccountant
from shufflebounds.accounting.affordable import most_rounds
from shufflebounds.accounting.calibration import fewest_users, largest_eps0
from shufflebounds.accounting.composed import compose
from shufflebounds.accounting.mechanism import (
    MechanismBounds,
    mechanism_delta,
    mechanism_epsilon,
)
from shufflebounds.accounting.profile import advantage, profile
from shufflebounds.accounting.renyi import renyi
from shufflebounds.accounting.renyi_conversion import epsilon_of_orders, renyi_epsilon
from shufflebounds.accounting.rounds import delta, epsilon
from shufflebounds.accounting.worst_case import (
    best_lower_delta,
    best_lower_epsilon,
    worst_delta,
    worst_epsilon,
)
from shufflebounds.accounting.worst_dataset import WorstDataset, worst_dataset
from shufflebounds.bounds.clones import standard_clone, stronger_clone
from shufflebounds.bounds.metric import metric_clone, metric_variation_ratio
from shufflebounds.bounds.variation_ratio import variation_ratio
from shufflebounds.decomposition import Decomposition, parallel, subsample
from shufflebounds.enclosure import Enclosure, Enclosures, PrecisionError
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.blh import BLH
from shufflebounds.randomizers.collision import Collision
from shufflebounds.randomizers.composed import Joint, Parallel, Subsampled
from shufflebounds.randomizers.duchi import Duchi
from shufflebounds.randomizers.hadamard import HadamardResponse
from shufflebounds.randomizers.hadamard_blocks import HadamardBlocks
from shufflebounds.randomizers.krr import KRR
from shufflebounds.randomizers.laplace import Laplace
from shufflebounds.randomizers.local_hash import LocalHash
from shufflebounds.randomizers.matrix import MatrixRandomizer
from shufflebounds.randomizers.metric_laplace import MetricLaplace
from shufflebounds.randomizers.oue import OUE
from shufflebounds.randomizers.piecewise import Piecewise
from shufflebounds.randomizers.privset import PrivSet
from shufflebounds.randomizers.privunit import PrivUnit
from shufflebounds.randomizers.rappor import RAPPOR
from shufflebounds.randomizers.subset import Subset

__all__ = [
    "BLH",
    "KRR",
    "OUE",
    "RAPPOR",
    "Collision",
    "Decomposition",
    "Duchi",
    "Enclosure",
    "Enclosures",
    "HadamardBlocks",
    "HadamardResponse",
    "Joint",
    "Laplace",
    "LocalHash",
    "MatrixRandomizer",
    "MechanismBounds",
    "MetricLaplace",
    "Parallel",
    "Piecewise",
    "PrecisionError",
    "PrivSet",
    "PrivUnit",
    "Randomizer",
    "ShuffleAccountant",
    "Subsampled",
    "Subset",
    "WorstDataset",
    "__version__",
    "advantage",
    "best_lower_delta",
    "best_lower_epsilon",
    "compose",
    "delta",
    "epsilon",
    "epsilon_of_orders",
    "fewest_users",
    "largest_eps0",
    "mechanism_delta",
    "mechanism_epsilon",
    "metric_clone",
    "metric_variation_ratio",
    "most_rounds",
    "parallel",
    "profile",
    "renyi",
    "renyi_epsilon",
    "standard_clone",
    "stronger_clone",
    "subsample",
    "variation_ratio",
    "worst_dataset",
    "worst_delta",
    "worst_epsilon",
]
