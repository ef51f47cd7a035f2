"""What shuffling gives: certified (ε, δ) bounds for shuffled local randomizers."""

from importlib import import_module
from typing import TYPE_CHECKING

from shufflebounds._version import __version__

if TYPE_CHECKING:
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
    from shufflebounds.randomizers.joint import Joint
    from shufflebounds.randomizers.matching import (
        HadamardBlocks,
        Piecewise,
        PrivSet,
        PrivUnit,
        Subset,
    )
    from shufflebounds.randomizers.matrix import MatrixRandomizer
    from shufflebounds.randomizers.mixed import Parallel, Subsampled

# Where the public names are. A module is loaded when one of its names is first asked for: who needs
# a few of them would otherwise spend more time on loading the others than on NumPy.
_HOMES = {
    "ShuffleAccountant": "accounting.accountant",
    "most_rounds": "accounting.calibration",
    "fewest_users": "accounting.calibration",
    "largest_eps0": "accounting.calibration",
    "compose": "accounting.composition",
    "MechanismBounds": "accounting.mechanism",
    "mechanism_delta": "accounting.mechanism",
    "mechanism_epsilon": "accounting.mechanism",
    "advantage": "accounting.profile",
    "profile": "accounting.profile",
    "renyi": "accounting.renyi",
    "epsilon_of_orders": "accounting.renyi",
    "renyi_epsilon": "accounting.renyi",
    "delta": "accounting.questions",
    "epsilon": "accounting.questions",
    "best_lower_delta": "accounting.many_pairs",
    "best_lower_epsilon": "accounting.many_pairs",
    "worst_delta": "accounting.many_pairs",
    "worst_epsilon": "accounting.many_pairs",
    "WorstDataset": "accounting.every_dataset",
    "worst_dataset": "accounting.every_dataset",
    "standard_clone": "bounds.clones",
    "stronger_clone": "bounds.clones",
    "metric_clone": "bounds.variation_ratio",
    "metric_variation_ratio": "bounds.variation_ratio",
    "variation_ratio": "bounds.variation_ratio",
    "Decomposition": "core.decomposition",
    "parallel": "core.decomposition",
    "subsample": "core.decomposition",
    "Enclosure": "core.enclosure",
    "Enclosures": "core.enclosure",
    "PrecisionError": "core.enclosure",
    "Randomizer": "randomizers.base",
    "BLH": "randomizers.bit_vectors",
    "Collision": "randomizers.discrete",
    "Joint": "randomizers.joint",
    "Parallel": "randomizers.mixed",
    "Subsampled": "randomizers.mixed",
    "Duchi": "randomizers.discrete",
    "HadamardResponse": "randomizers.discrete",
    "HadamardBlocks": "randomizers.matching",
    "KRR": "randomizers.discrete",
    "Laplace": "randomizers.continuous",
    "LocalHash": "randomizers.bit_vectors",
    "MatrixRandomizer": "randomizers.matrix",
    "MetricLaplace": "randomizers.continuous",
    "OUE": "randomizers.bit_vectors",
    "Piecewise": "randomizers.matching",
    "PrivSet": "randomizers.matching",
    "PrivUnit": "randomizers.matching",
    "RAPPOR": "randomizers.bit_vectors",
    "Subset": "randomizers.matching",
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
