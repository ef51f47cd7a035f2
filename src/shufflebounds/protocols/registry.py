"""The protocols that configurations know by name. A new one is its module, and a line here.

A protocol's parameters are those of what makes it. Where some of them are settings, such as a
number of messages that is an axis of curves, its entry names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shufflebounds.core import validation
from shufflebounds.protocols import messages
from shufflebounds.protocols.base import Calibrated, Protocol
from shufflebounds.protocols.histograms import (
    DecisionTrees,
    HierarchicalHistogram,
    SeparateHistograms,
    coordinate_sums,
)
from shufflebounds.protocols.messages import BallsIntoBins, BinarySum, CheuZhilyaev, Dump


@dataclass(frozen=True)
class Entry:
    """A protocol by name.

    Parameters
    ----------
    make
        The protocol of its parameters and of the settings that `needs` names, all by keyword.
    needs
        Names of settings (fields of `Setting`) among its arguments. A ``delta`` that is a share
        of 1/n comes as `OverN` where n is not among them.
    label
        As figures call it.
    users
        Where n follows from the rest: n of the same arguments.

    """

    make: Callable[..., Protocol]
    label: str
    needs: tuple[str, ...] = ()
    users: Callable[..., int] | None = None


PROTOCOLS: Mapping[str, Entry] = MappingProxyType(
    {
        "balls_into_bins": Entry(BallsIntoBins, "balls into bins"),
        "balls_into_bins_designed": Entry(
            messages.designed_balls_into_bins,
            "balls into bins",
            needs=("target", "delta"),
            users=messages.designed_balls_into_bins_users,
        ),
        "binary_sum": Entry(BinarySum, "binary sum"),
        "calibrated": Entry(Calibrated, "calibrated", needs=("target", "n", "delta")),
        "cheu_zhilyaev": Entry(CheuZhilyaev, "Cheu and Zhilyaev"),
        "cheu_zhilyaev_designed": Entry(
            messages.designed_cheu_zhilyaev, "Cheu and Zhilyaev", needs=("target", "n", "delta")
        ),
        "coordinate_sums": Entry(coordinate_sums, "sums of noisy bits", needs=("eps0",)),
        "decision_trees": Entry(DecisionTrees, "decision trees", needs=("messages",)),
        "dump": Entry(Dump, "dummy points"),
        "hierarchical_histogram": Entry(
            HierarchicalHistogram, "hierarchical histogram", needs=("eps0",)
        ),
        "separate_histograms": Entry(SeparateHistograms, "separate histograms", needs=("eps0",)),
    }
)


def entry(name: str) -> Entry:
    """The protocol of that name; ValueError for an unknown one."""
    return PROTOCOLS[validation.choice("protocol", name, PROTOCOLS)]
