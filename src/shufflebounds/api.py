"""The public names, all of which are also those of `shufflebounds`."""

from shufflebounds.accounting.accountant import ShuffleAccountant
from shufflebounds.accounting.calibration import fewest_users, largest_eps0, most_rounds
from shufflebounds.accounting.composition import compose
from shufflebounds.accounting.every_dataset import WorstDataset, worst_dataset
from shufflebounds.accounting.many_pairs import (
    best_lower_delta,
    best_lower_epsilon,
    worst_delta,
    worst_epsilon,
)
from shufflebounds.accounting.mechanism import (
    MechanismBounds,
    mechanism_delta,
    mechanism_epsilon,
)
from shufflebounds.accounting.profile import advantage, profile
from shufflebounds.accounting.questions import delta, epsilon
from shufflebounds.accounting.renyi import epsilon_of_orders, renyi, renyi_epsilon
from shufflebounds.bounds.clones import standard_clone, stronger_clone
from shufflebounds.bounds.variation_ratio import (
    metric_clone,
    metric_variation_ratio,
    variation_ratio,
)
from shufflebounds.core.decomposition import Decomposition, parallel, subsample
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.bit_vectors import BLH, OUE, RAPPOR, LocalHash
from shufflebounds.randomizers.continuous import Laplace, MetricLaplace
from shufflebounds.randomizers.discrete import KRR, Collision, Duchi, HadamardResponse
from shufflebounds.randomizers.estimation import Error
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.matching import (
    HadamardBlocks,
    Piecewise,
    PrivSet,
    PrivUnit,
    Subset,
)
from shufflebounds.randomizers.matrix import KFold, MatrixRandomizer
from shufflebounds.randomizers.mixed import Parallel, Subsampled

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
    "Error",
    "HadamardBlocks",
    "HadamardResponse",
    "Joint",
    "KFold",
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
