"""Protocols: from what n users send to decompositions, and how often they draw from them.

>>> from shufflebounds.protocols import BallsIntoBins
>>> P = BallsIntoBins(bins=10)
>>> f"{sb.epsilon(P.decomposition(), n=P.draws(1_000), delta=1e-6).upper:.2f}"
'0.59'
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shufflebounds.protocols.allocation import RandomAllocation as RandomAllocation
    from shufflebounds.protocols.histograms import CoordinateSums as CoordinateSums
    from shufflebounds.protocols.histograms import DecisionTrees as DecisionTrees
    from shufflebounds.protocols.histograms import HierarchicalHistogram as HierarchicalHistogram
    from shufflebounds.protocols.histograms import SeparateHistograms as SeparateHistograms
    from shufflebounds.protocols.messages import BallsIntoBins as BallsIntoBins
    from shufflebounds.protocols.messages import BinarySum as BinarySum
    from shufflebounds.protocols.messages import CheuZhilyaev as CheuZhilyaev
    from shufflebounds.protocols.messages import Dump as Dump
    from shufflebounds.protocols.training import PoissonSampling as PoissonSampling
    from shufflebounds.protocols.training import ShuffledBatches as ShuffledBatches

# The modules of the classes. They are loaded when they are asked for, since the modules of this
# package import each other.
_MODULES = {
    "BallsIntoBins": "messages",
    "BinarySum": "messages",
    "CheuZhilyaev": "messages",
    "CoordinateSums": "histograms",
    "DecisionTrees": "histograms",
    "Dump": "messages",
    "HierarchicalHistogram": "histograms",
    "PoissonSampling": "training",
    "RandomAllocation": "allocation",
    "SeparateHistograms": "histograms",
    "ShuffledBatches": "training",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
