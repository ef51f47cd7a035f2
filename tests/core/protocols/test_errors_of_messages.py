"""Errors of histograms from several messages, against draws by the protocols' definitions."""

import numpy as np
import pytest

from shufflebounds.protocols.messages import BallsIntoBins, CheuZhilyaev, Dump

N, K, REPEATS = 60, 4, 20_000
HELD = np.repeat([0, 1], [40, 20])
SHARES = np.array([40, 20, 0, 0]) / N
RNG = np.random.default_rng(7)


def by_dump(flip, blankets):
    """Shares by counts of own values, or others of all, and of dummies."""
    q = flip / (K - 1)
    laws = np.where(np.eye(K, dtype=bool), 1.0 - flip, q)
    sent = sum(
        RNG.multinomial(count, law, REPEATS) for count, law in zip([40, 20], laws[:2], strict=True)
    )
    sent = sent + RNG.multinomial(N * blankets, np.full(K, 1 / K), REPEATS)
    return (sent / N - blankets / K - q) / (1.0 - flip - q)


def by_bits(flip, blankets):
    """Every bit of every message is flipped."""
    ones = (N * SHARES).astype(int)
    kept = RNG.binomial(ones, 1.0 - flip, (REPEATS, K))
    zeros = RNG.binomial(N * (1 + blankets) - ones, flip, (REPEATS, K))
    return ((kept + zeros) / N - (1 + blankets) * flip) / (1.0 - 2.0 * flip)


@pytest.mark.parametrize(
    ("error", "estimates"),
    [
        (BallsIntoBins(bins=K, blankets=3).error(N), by_dump(0.0, 3)),
        (Dump(K, flip=0.2, blankets=2).error(N), by_dump(0.2, 2)),
        (CheuZhilyaev(0.1, blankets=2).error(N, K), by_bits(0.1, 2)),
    ],
)
def test_errors_are_those_of_draws(error, estimates):
    off = estimates - SHARES
    np.testing.assert_allclose(off.mean(axis=0), 0.0, atol=5.0 * np.sqrt(error.largest / REPEATS))
    squares = np.mean(off**2, axis=0)
    assert squares.sum() == pytest.approx(error.mse, rel=0.03)
    np.testing.assert_allclose(squares[2:], error.rare, rtol=0.05)


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="special must be an integer from 1 to 1"):
        BallsIntoBins(bins=8, special=2).error(10)
    with pytest.raises(ValueError, match="values must be an integer >= 2"):
        CheuZhilyaev(0.1).error(10, 1)
