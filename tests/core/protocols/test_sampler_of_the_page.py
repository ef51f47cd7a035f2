"""The sampler of docs/random-allocation.md against the draw that the proofs assume."""

import re
from collections import Counter
from itertools import product

import numpy as np
import pytest
from repository import ROOT
from scipy.stats import chi2

# Tests at this level of significance, at fixed seeds, fail for wrong draws.
LEVEL = 1e-3


@pytest.fixture(scope="module")
def epoch_batches():
    """The function of the page."""
    text = (ROOT / "docs" / "random-allocation.md").read_text(encoding="utf-8")
    [code] = [x for x in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "def " in x]
    names = {}
    exec(code, names)
    return names["epoch_batches"]


class ListedDraws:
    """A generator whose whole numbers take every value once, one array a call."""

    def __init__(self, steps, size):
        self.draws = product(range(steps), repeat=size)

    def integers(self, steps, *, size):
        draw = np.array(next(self.draws), dtype=int)
        assert draw.shape == (size,)
        return draw


def steps_of_examples(batches, size):
    """Return the step of each example, which has to join one."""
    joined = [(int(example), step) for step, batch in enumerate(batches) for example in batch]
    assert sorted(example for example, _ in joined) == list(range(size))
    return tuple(step for _, step in sorted(joined))


def is_uniform(counts, cells):
    """Whether counts over so many cells pass a test of χ²."""
    values = np.zeros(cells)
    values[list(counts)] = list(counts.values())
    expected = values.sum() / cells
    return ((values - expected) ** 2 / expected).sum() <= chi2.isf(LEVEL, cells - 1)


@pytest.mark.parametrize(("size", "steps"), [(1, 1), (4, 3), (3, 4), (2, 7)])
def test_every_allocation_is_equally_likely(epoch_batches, size, steps):
    """Uniform numbers give each of the t^N allocations with the same probability."""
    draws = ListedDraws(steps, size)
    allocations = Counter(
        steps_of_examples(epoch_batches(size, steps, draws), size) for _ in range(steps**size)
    )
    assert set(allocations.values()) == {1}
    assert len(allocations) == steps**size


def test_batches_partition_the_examples(epoch_batches):
    rng = np.random.default_rng(3)
    for size, steps in ((1, 5), (100, 7), (5, 100), (1000, 1)):
        batches = epoch_batches(size, steps, rng)
        assert len(batches) == steps
        steps_of_examples(batches, size)


def test_steps_are_independent_across_epochs_and_examples(epoch_batches):
    """Steps of an example in two epochs, and of two examples in one, are uniform pairs."""
    size, steps, epochs = 10, 5, 20_001
    rng = np.random.default_rng(63)
    drawn = np.array(
        [steps_of_examples(epoch_batches(size, steps, rng), size) for _ in range(epochs)]
    )
    for example in (0, size - 1):
        assert is_uniform(Counter(drawn[:, example].tolist()), steps)
        pairs = drawn[0:-1:2, example] * steps + drawn[1::2, example]
        assert is_uniform(Counter(pairs.tolist()), steps**2)
    # Batches of a fixed size fail here: examples of one batch leave less room for others.
    assert is_uniform(Counter((drawn[:, 0] * steps + drawn[:, 1]).tolist()), steps**2)


def test_the_test_tells_fixed_sizes_and_kept_bins_from_this_draw():
    size, steps, epochs = 10, 5, 20_001
    rng = np.random.default_rng(63)
    fixed = np.array([rng.permutation(np.arange(size) % steps) for _ in range(epochs)])
    assert not is_uniform(Counter((fixed[:, 0] * steps + fixed[:, 1]).tolist()), steps**2)
    kept = np.repeat(rng.integers(steps, size=(epochs // 2, 1)), 2)
    assert not is_uniform(Counter((kept[0::2] * steps + kept[1::2]).tolist()), steps**2)
