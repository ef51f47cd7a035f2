"""Points that could not be computed narrowly enough decide nothing."""

import numpy as np
import pandas as pd

from shufflebounds.reproduce.papers.judging import Evidence
from shufflebounds.reproduce.papers.su2026 import claims

EMPTY = (np.nan, np.nan)


def row(bound, ends, **others):
    common = {"mechanism": "krr(k=4)", "k_joint": 1, "distance": 1, "eps0": 1.0}
    common |= {"delta": 1e-6, "n": 10, "bound": bound}
    return common | dict(zip(("epsilon_lower", "epsilon_upper"), ends, strict=True)) | others


def test_the_largest_of_several_is_unknown_where_one_is():
    """Else the upper bound would be that of the easier pair of inputs alone."""
    rows = [
        row("upper", (0.1, 0.2), k_joint=2, distance=1),
        row("upper", EMPTY, k_joint=2, distance=2),
        row("upper", (0.5, 0.6)),
    ]
    points = claims.fall_with_k(Evidence(pd.DataFrame(rows), {}))
    assert not np.isfinite(points[["low", "high"]].to_numpy()).any()


def test_the_least_baseline_is_unknown_where_one_is():
    """Else the bound would be compared with a larger one."""
    rows = [row("upper", (0.1, 0.2)), row("clone", EMPTY)]
    rows += [row(name, (0.5, 0.6)) for name in ("blanket_hoeffding", "blanket_bennett")]
    points = claims.below_baselines(Evidence(pd.DataFrame(rows), {}))
    assert points[["low", "high"]].to_numpy().tolist() == [[-np.inf, np.inf]]
