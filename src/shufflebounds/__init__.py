"""What shuffling gives: certified (ε, δ) bounds for shuffled local randomizers."""

from importlib import import_module
from typing import TYPE_CHECKING

from shufflebounds._version import __version__

if TYPE_CHECKING:
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
    from shufflebounds.decomposition import Decomposition
    from shufflebounds.enclosure import Enclosure, Enclosures, PrecisionError
    from shufflebounds.mixtures import parallel, subsample
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

# Where the public names are. A module is loaded when one of its names is first asked for: who needs
# a few of them would otherwise spend more time on loading the others than on NumPy.
_HOMES = {
    "ShuffleAccountant": "accounting.accountant",
    "most_rounds": "accounting.affordable",
    "fewest_users": "accounting.calibration",
    "largest_eps0": "accounting.calibration",
    "compose": "accounting.composed",
    "MechanismBounds": "accounting.mechanism",
    "mechanism_delta": "accounting.mechanism",
    "mechanism_epsilon": "accounting.mechanism",
    "advantage": "accounting.profile",
    "profile": "accounting.profile",
    "renyi": "accounting.renyi",
    "epsilon_of_orders": "accounting.renyi_conversion",
    "renyi_epsilon": "accounting.renyi_conversion",
    "delta": "accounting.rounds",
    "epsilon": "accounting.rounds",
    "best_lower_delta": "accounting.worst_case",
    "best_lower_epsilon": "accounting.worst_case",
    "worst_delta": "accounting.worst_case",
    "worst_epsilon": "accounting.worst_case",
    "WorstDataset": "accounting.worst_dataset",
    "worst_dataset": "accounting.worst_dataset",
    "standard_clone": "bounds.clones",
    "stronger_clone": "bounds.clones",
    "metric_clone": "bounds.metric",
    "metric_variation_ratio": "bounds.metric",
    "variation_ratio": "bounds.variation_ratio",
    "Decomposition": "decomposition",
    "parallel": "mixtures",
    "subsample": "mixtures",
    "Enclosure": "enclosure",
    "Enclosures": "enclosure",
    "PrecisionError": "enclosure",
    "Randomizer": "randomizers.base",
    "BLH": "randomizers.blh",
    "Collision": "randomizers.collision",
    "Joint": "randomizers.composed",
    "Parallel": "randomizers.composed",
    "Subsampled": "randomizers.composed",
    "Duchi": "randomizers.duchi",
    "HadamardResponse": "randomizers.hadamard",
    "HadamardBlocks": "randomizers.hadamard_blocks",
    "KRR": "randomizers.krr",
    "Laplace": "randomizers.laplace",
    "LocalHash": "randomizers.local_hash",
    "MatrixRandomizer": "randomizers.matrix",
    "MetricLaplace": "randomizers.metric_laplace",
    "OUE": "randomizers.oue",
    "Piecewise": "randomizers.piecewise",
    "PrivSet": "randomizers.privset",
    "PrivUnit": "randomizers.privunit",
    "RAPPOR": "randomizers.rappor",
    "Subset": "randomizers.subset",
}

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


def __getattr__(name: str) -> object:
    """A public name, from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value  # found at once the next time
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
