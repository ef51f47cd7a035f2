"""SOLH: the authors' formulas against each other and against a search, and what is drawn."""

import math

import numpy as np
import pytest

import shufflebounds as sb
from reproduction.papers.wang2020 import Calibrations, claims, tables
from shufflebounds.estimation.accuracy import gaussian_noise

N, K, DELTA = 602_325, 915, 1e-9


@pytest.mark.parametrize("eps", [0.2, 0.5, 1.0])
def test_local_hashing_has_the_variance_of_the_formula(eps):
    m = eps**2 * (N - 1) / (14 * math.log(2 / DELTA))
    assert tables.room(eps, N, DELTA) == pytest.approx(m)
    found = tables.solh(K, eps, N, DELTA)
    l = found.hash_values  # noqa: E741
    assert math.exp(found.eps0) + l - 1 == pytest.approx(m)
    assert found.error(N).rare == pytest.approx(m**2 / (N * (l - 1) * (m - l) ** 2))
    variances = [m**2 / ((x - 1) * (m - x) ** 2) for x in range(2, int(m))]
    assert abs(2 + int(np.argmin(variances)) - l) <= 1


@pytest.mark.parametrize("n", [50, 1000, 10**5])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_the_theorem_is_not_refuted(n, delta):
    """At all numbers of hash values, and few users, for which there is room."""
    for eps in (0.1, 0.5, 1.0):
        m = tables.room(eps, n, delta)
        for l in {2, 3, tables.hash_values(m)}:  # noqa: E741
            if m > l:
                eps0 = math.log(m - l + 1)
                assert sb.delta(sb.LocalHash(eps0, l).blanket(), eps=eps, n=n).upper <= delta
                assert sb.delta(sb.KRR(l, eps0).blanket(), eps=eps, n=n).upper <= delta


@pytest.fixture(scope="module")
def measured():
    return tables.calibrations_table(Calibrations(values=K, n=N, eps=(0.5, 1.0), delta=DELTA))


def test_rows_and_lines(measured):
    frame = measured.copy()
    hashing, response = (frame[frame["mechanism"] == name] for name in ("SOLH", "GRR"))
    assert hashing["certified"].to_list() == pytest.approx([0.138, 0.285], rel=0.005)
    assert response["error"].isna().to_list() == [True, False]
    # Errors over those of Gaussian noise, of a program of its own. The curator's noise is
    # geometric, whose ratio of neighbouring masses is e^{ε/2}.
    over_gaussian = [
        1.0 / (math.cosh(eps / 2.0) - 1.0) / (2.0 * gaussian_noise(eps, DELTA) ** 2)
        for eps in (0.5, 1.0)
    ]
    for rows, expected in ((response, [1.84, 2.23]), (hashing, [4.44, 8.08])):
        ratios = rows["best_error"].to_numpy() * over_gaussian
        assert ratios.tolist() == pytest.approx(expected, rel=0.02)
    assert [row[2:6] for row in Calibrations.load_code().page(frame).rows][1] == ("none",) * 4
    frame["error"] = frame["error"].astype(object).where(frame["error"].notna(), "")  # as in files
    (view,) = Calibrations.load_code().sheet(frame, "").views
    assert np.isnan(view.lines[1][1].y[0])
    assert [line.label[:4] for line, _ in view.lines][:2] == ["SOLH", "GRR,"]


def test_claims_at_two_targets(measured, monkeypatch):
    monkeypatch.setattr(claims, "TARGETS", (0.5, 1.0))
    monkeypatch.setattr(
        claims, "ipums_calibrations", lambda: measured.set_index(["mechanism", "eps"])
    )
    assert claims.private(None).verdict == "reproduced"
    assert claims.best_hash_values(None).verdict == "reproduced"
    assert claims.beats_grr(None).verdict == "reproduced in part"
