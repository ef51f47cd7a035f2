"""The protocols that configurations know by name. A new one is its module, and a line here.

A protocol's parameters are those of what makes it. Where some of them are settings, such as a
number of messages that is an axis of curves, its entry names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shufflebounds import validation
from shufflebounds.protocols import balls_into_bins, cheu_zhilyaev
from shufflebounds.protocols.balls_into_bins import BallsIntoBins
from shufflebounds.protocols.base import Protocol
from shufflebounds.protocols.binary_sum import BinarySum
from shufflebounds.protocols.cheu_zhilyaev import CheuZhilyaev
from shufflebounds.protocols.coordinate_sums import coordinate_sums
from shufflebounds.protocols.decision_trees import DecisionTrees
from shufflebounds.protocols.dump import Dump
from shufflebounds.protocols.hierarchical_histogram import HierarchicalHistogram, SeparateHistograms


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
            balls_into_bins.designed,
            "balls into bins",
            needs=("target", "delta"),
            users=balls_into_bins.designed_users,
        ),
        "binary_sum": Entry(BinarySum, "binary sum"),
        "cheu_zhilyaev": Entry(CheuZhilyaev, "Cheu and Zhilyaev"),
        "cheu_zhilyaev_designed": Entry(
            cheu_zhilyaev.designed, "Cheu and Zhilyaev", needs=("target", "n", "delta")
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
