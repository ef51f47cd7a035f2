"""A panel that is drawn once: the theorem and the table of the page on rounds, by other means."""

import itertools
import math
import re

import numpy as np
import pytest
from repository import ROOT
from scipy.optimize import brentq
from scipy.stats import binom

import shufflebounds as sb


def shuffle_law(inputs, keep):
    """Masses of the number of ones among reports of binary randomized response."""
    law = np.ones(1)
    for value in inputs:
        one = keep if value else 1.0 - keep
        law = np.convolve(law, [1.0 - one, one])
    return law


def panel_law(inputs, members, rounds, keep):
    """The law of all rounds, by the vector of numbers of ones, of a panel drawn once."""
    panels = [*itertools.combinations(range(len(inputs)), members)]
    law = 0.0
    for panel in panels:
        one = shuffle_law([inputs[i] for i in panel], keep)
        joint = one
        for _ in range(rounds - 1):
            joint = np.outer(joint, one).ravel()
        law = law + joint / len(panels)
    return law


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_theorem_on_panels_holds_for_every_dataset_and_is_attained(rounds):
    eps0, users, members = 1.0, 4, 2
    keep, q = math.exp(eps0) / (1.0 + math.exp(eps0)), members / users
    randomizer = sb.KRR(k=2, eps0=eps0)
    for inner in (0.1, 0.5, 0.9):
        eps = math.log1p(q * math.expm1(inner))
        exact = max(
            divergence(
                eps,
                panel_law((x, *others), members, rounds, keep),
                panel_law((1 - x, *others), members, rounds, keep),
            )
            for x in (0, 1)
            for others in itertools.product((0, 1), repeat=users - 1)
        )
        # Everybody is a member, and the other one holds the victim's second value.
        first, second = (panel_law((x, 1), members, rounds, keep) for x in (0, 1))
        attained = q * divergence(inner, first, second)
        claimed = q * sb.delta(randomizer, eps=inner, n=members, rounds=rounds).upper
        assert attained * (1 - 1e-12) <= exact <= claimed


def divergence(eps, first, second):
    return np.maximum(first - math.exp(eps) * second, 0.0).sum()


def lower_delta(members, rounds, eps0, grid=2e-5):
    """Return ε ↦ D of datasets whose other users all hold the victim's second value.

    The losses of a round are rounded down to a grid, so that D comes out too small, and convolved.
    """
    flip = 1.0 / (1.0 + math.exp(eps0))
    flipped = np.arange(members + 1)
    second = binom.pmf(flipped, members, flip)
    first = (1.0 - flip) * binom.pmf(flipped - 1, members - 1, flip)
    first += flip * binom.pmf(flipped, members - 1, flip)
    kept = (first > 1e-18) & (second > 0.0)
    steps = np.floor(np.log(first[kept] / second[kept]) / grid).astype(int)
    base = np.bincount(steps - steps.min(), weights=first[kept])
    places = np.arange(base.size)
    mean = base @ places
    spread = math.sqrt(rounds * (base @ (places - mean) ** 2))
    size = 2 ** math.ceil(math.log2(max(base.size, 30 * spread)))
    law = np.fft.irfft(np.fft.rfft(base, size) ** rounds, size)
    sums = np.arange(size) + int(rounds * mean) - size // 2
    masses, losses = np.maximum(law[sums % size], 0.0), (sums + rounds * steps.min()) * grid
    return lambda eps: float(masses @ np.maximum(-np.expm1(np.minimum(eps - losses, 0.0)), 0.0))


def test_the_table_of_the_page_on_rounds():
    page = (ROOT / "docs" / "what-to-compose.md").read_text(encoding="utf-8")
    rows = re.findall(r"^ *(10+|365)((?: +\d\.\d{4}){3})$", page, re.M)
    assert [int(rounds) for rounds, _ in rows] == [10, 100, 365]
    (least,) = re.findall(r"secret panel is at least (.*) and (.*):", page)
    members, q, delta = 1_000, 0.1, 1e-6
    for (rounds, cells), end in zip(rows, ", ".join(least).split(", "), strict=True):
        fresh, most, known = map(float, cells.split())
        least = float(end)
        curve = lower_delta(members, int(rounds), 1.0)
        inner = brentq(lambda eps, f=curve: math.log(max(f(eps), 1e-300) * q / delta), 1e-3, 10.0)
        attained = math.log1p(q * math.expm1(inner))
        assert least <= attained < least + 1e-4
        assert fresh < least < most < known
