"""Reading the curves of a paper for its figures and claims: none that is not what is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd

import stale
from shufflebounds.experiments import curve
from shufflebounds.experiments.plan import Paper
from shufflebounds.experiments.specification import Name
from shufflebounds.papers.claims import Evidence


def curves(paper: Paper, names: Sequence[Name], paths: Sequence[str]) -> dict[Name, pd.DataFrame]:
    """The tables of some curves.

    Raises ValueError, which tells how to make it anew, for a file that is not the curve wanted.
    """
    frames = {}
    for name, path in zip(names, paths, strict=True):
        verify = partial(curve.verify, name=name, specification=paper.curves[name])
        stale.require(verify, path)
        frames[name] = curve.read(path)
    return frames


def together(frames: Mapping[Name, pd.DataFrame]) -> pd.DataFrame:
    """All tables one below the other."""
    return pd.concat(frames.values(), ignore_index=True)


def evidence(paper: Paper, frames: Mapping[Name, pd.DataFrame]) -> dict[str, Evidence]:
    """For each claim the curves that are to show it, and their mechanisms."""
    mechanisms = {
        str(paper.curves[name].reports.mechanism): paper.curves[name].reports.mechanism
        for name in frames
    }
    return {
        claim: Evidence(pd.concat([frames[name] for name in names]), mechanisms)
        for claim, names in paper.claims.items()
    }
