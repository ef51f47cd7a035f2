"""The public names, all of which are also those of `shufflebounds`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shufflebounds.bounds.variation_ratio import (
    metric_clone,
    metric_variation_ratio,
    variation_ratio,
)
from shufflebounds.core.clones import standard_clone, stronger_clone
from shufflebounds.core.decomposition import Decomposition, parallel, subsample
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError
from shufflebounds.core.progress import progress
from shufflebounds.estimation.accuracy import Error
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.protocols.training import PoissonSampling, ShuffledBatches
from shufflebounds.questions.accountant import ShuffleAccountant
from shufflebounds.questions.answers import (
    MechanismBounds,
    best_lower_delta,
    best_lower_epsilon,
    delta,
    epsilon,
    mechanism_delta,
    mechanism_epsilon,
    worst_delta,
    worst_epsilon,
)
from shufflebounds.questions.composed import compose
from shufflebounds.questions.deployment import Deployment
from shufflebounds.questions.profile import advantage, profile
from shufflebounds.questions.ranking import Choice, Ranking, choose
from shufflebounds.questions.renyi import renyi, renyi_epsilon
from shufflebounds.questions.renyi_conversion import epsilon_of_orders
from shufflebounds.questions.searches import (
    fewest_users,
    largest_eps0,
    most_rounds,
    smallest_noise_multiplier,
)
from shufflebounds.questions.worst_dataset import WorstDataset, worst_dataset
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.bit_vectors import BLH, OUE, RAPPOR, LocalHash, UnaryEncoding
from shufflebounds.randomizers.dbitflip import DBitFlip
from shufflebounds.randomizers.discrete import KRR, Collision, Duchi, HadamardResponse
from shufflebounds.randomizers.filters import BloomRAPPOR
from shufflebounds.randomizers.gaussian import Gaussian
from shufflebounds.randomizers.hybrid import Hybrid
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.laplace import Laplace, MetricLaplace
from shufflebounds.randomizers.matching import (
    HadamardBlocks,
    PrivSet,
    Subset,
)
from shufflebounds.randomizers.matrix import KFold, MatrixRandomizer
from shufflebounds.randomizers.mixed import Parallel, Subsampled
from shufflebounds.randomizers.sketches import CMS, HCMS
from shufflebounds.randomizers.survey import Survey
from shufflebounds.randomizers.windows import Piecewise, PrivUnit
from shufflebounds.subjects.base import Subject
from shufflebounds.subjects.cohort import Cohort
from shufflebounds.subjects.groups import Groups

if TYPE_CHECKING:
    from shufflebounds.curves.curve import Curve


def curve(
    mechanism: Randomizer | Subject | Mapping[str, Any],
    bound: str = "best",
    *,
    quantity: str = "epsilon",
    rtol: float | None = None,
    **settings: Any,
) -> Curve:
    """Compute one bound along an axis.

    Parameters
    ----------
    mechanism
        A mechanism such as ``KRR(k=10, eps0=4.0)``, all that users send, such as a `Cohort` or
        `Groups`, or what configurations have under ``mechanisms``, such as
        ``{"type": "krr", "k": 10}``.
    bound
        Its name, as ``shufflebounds bounds`` lists it: ``best``, ``blanket``, ``lower``,
        ``stronger_clone``, …
    quantity
        ``epsilon`` (at ``delta``), ``delta`` (at ``eps``) or ``renyi`` (at ``order``).
    rtol
        The relative width to aim at, 10⁻⁹ to 0.1; None stands for the defaults of `epsilon`.
    settings
        ``n``, ``delta``, ``eps``, ``eps0``, ``rounds``, ``order``; ε are natural logarithms. One of
        them is the axis, a list or ``{"start": 1000, "stop": 10**6, "points": 13}``. ``eps0`` is
        that of the mechanism if it is left out.

    Returns
    -------
    Curve
        With ``enclosures``, a ``frame()`` for pandas, and a table in notebooks. A point whose width
        is out of reach has a ``shortfall``, and empty cells.

    Raises
    ------
    ValueError
        For a setting that is missing, unknown or out of range, and unless one is an axis.

    Examples
    --------
    >>> found = sb.curve(sb.KRR(k=10, eps0=4.0), "blanket", n=[1_000, 100_000], delta=1e-6)
    >>> [f"{one.upper:.2f}" for one in found.enclosures]
    ['1.53', '0.11']
    """
    # Here, since all else starts faster without.
    from shufflebounds.curves import curve as curves
    from shufflebounds.curves import specification, storage

    name = storage.CurveName("Python", "Python", bound)
    return curves.compute(
        name, specification.of_question(mechanism, bound, quantity, rtol, settings)
    )


__all__ = [
    "BLH",
    "CMS",
    "HCMS",
    "KRR",
    "OUE",
    "RAPPOR",
    "BloomRAPPOR",
    "Choice",
    "Cohort",
    "Collision",
    "DBitFlip",
    "Decomposition",
    "Deployment",
    "Duchi",
    "Enclosure",
    "Enclosures",
    "Error",
    "Gaussian",
    "Groups",
    "HadamardBlocks",
    "HadamardResponse",
    "Hybrid",
    "Joint",
    "KFold",
    "Laplace",
    "LocalHash",
    "MatrixRandomizer",
    "MechanismBounds",
    "MetricLaplace",
    "Parallel",
    "Piecewise",
    "PoissonSampling",
    "PrecisionError",
    "PrivSet",
    "PrivUnit",
    "RandomAllocation",
    "Randomizer",
    "Ranking",
    "ShuffleAccountant",
    "ShuffledBatches",
    "Subsampled",
    "Subset",
    "Survey",
    "UnaryEncoding",
    "WorstDataset",
    "advantage",
    "best_lower_delta",
    "best_lower_epsilon",
    "choose",
    "compose",
    "curve",
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
    "progress",
    "renyi",
    "renyi_epsilon",
    "smallest_noise_multiplier",
    "standard_clone",
    "stronger_clone",
    "subsample",
    "variation_ratio",
    "worst_dataset",
    "worst_delta",
    "worst_epsilon",
]
