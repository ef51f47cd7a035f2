"""README's sentence on how close upper and lower bound are, over all parameters that it covers."""

from __future__ import annotations

import itertools
import re
import sys

import pytest
from repository import ROOT

import shufflebounds as sb

sys.path.insert(0, str(ROOT / "benchmarks"))

import gap_scan

README = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))


def test_readme_states_the_ranges_that_are_scanned():
    assert gap_scan.EPS0_RANGE == (0.1, 4.0)
    assert gap_scan.USERS_RANGE == (1e4, 1e6)
    assert gap_scan.DELTA_RANGE == (1e-6, 1e-6)
    assert gap_scan.LIMIT == 1.002
    (sentence,) = re.findall(r"For randomized response,.*?lower bound\.", README)
    for words in ("ε₀ from 0.1 to 4", "δ = 10⁻⁶", "10 000 to a million users", "0.2 %"):
        assert words in sentence


@pytest.mark.parametrize("seed", range(4))
def test_random_questions_of_its_ranges_are_within_the_limit(seed):
    for question in itertools.islice(gap_scan.questions(seed), 2 * len(gap_scan.MECHANISMS)):
        assert question.ratio() <= gap_scan.LIMIT, question


@pytest.mark.parametrize(
    ("randomizer", "n"),
    [
        (sb.Subset(4.0, domain_size=256, subset_size=255), 10**4),
        (sb.KRR(2, 0.3), 10**10),
        (sb.RAPPOR(1.0), 10**11),
    ],
    ids=str,
)
def test_questions_outside_its_ranges_exceed_the_limit(randomizer, n):
    """The ranges may not be dropped from the sentence: these questions lie outside."""
    assert gap_scan.Question("", randomizer, n, 1e-6).ratio() > gap_scan.LIMIT


@pytest.mark.parametrize(("n", "excess"), [(10, 0.0), (18, 0.0217), (35, 0.0168), (60, 0.0)])
def test_the_worst_dataset_of_few_users_is_above_equal_others_as_stated(n, excess):
    """The section "How tight" states the largest excess, 2.2 % at n = 18, by enumeration."""
    randomizer = sb.KRR(2, 1.0)
    worst = sb.worst_dataset(randomizer, n, delta=1e-3).enclosure
    pairs = randomizer.dataset_pairs().values()
    equal = max(sb.epsilon(pair, n=n, delta=1e-3).lower for pair in pairs)
    assert worst.upper / equal - 1.0 == pytest.approx(excess, abs=2e-4)
