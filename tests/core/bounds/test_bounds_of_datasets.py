"""What every bound concludes holds for all datasets of a few users, enumerated in fractions."""

import numpy as np
import pytest
import shuffles

import shufflebounds as sb
from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.registry import BOUNDS

CHANNELS = {
    "binary": (shuffles.BINARY, 6),
    "crooked": (shuffles.CROOKED, 2),
    "one bit of three inputs": (((0.9375, 0.0625), (0.75, 0.25), (0.125, 0.875)), 3),
}
AXES = {"delta": ("eps", (0.0, 0.25, 1.25)), "epsilon": ("delta", (0.125, 1e-3))}
QUESTIONS = [
    (bound, quantity)
    for bound in BOUNDS.values()
    for quantity in bound.quantities
    if quantity in AXES and bound.kind is not Kind.UNPROVEN and bound.name != "original"
]


@pytest.fixture(scope="module", params=CHANNELS.values(), ids=CHANNELS)
def mechanism(request):
    channel, n = request.param
    return sb.MatrixRandomizer(np.array(channel)), n, shuffles.all_datasets(channel, n).values()


@pytest.mark.parametrize(("bound", "quantity"), QUESTIONS, ids=lambda x: getattr(x, "name", x))
def test_no_dataset_contradicts_a_bound(mechanism, bound, quantity):
    randomizer, n, datasets = mechanism
    axis, values = AXES[quantity]
    curve = sb.curve(randomizer, bound.name, quantity=quantity, n=n, **{axis: values})
    for value, ends in zip(values, curve.enclosures, strict=True):
        if bound.kind is Kind.UPPER and quantity == "delta":
            assert shuffles.largest(datasets, value)[0] <= ends.upper
        elif bound.kind is Kind.UPPER:
            assert ends.upper == np.inf or shuffles.largest(datasets, ends.upper)[0] <= value
        elif quantity == "delta":
            assert ends.lower <= shuffles.largest(datasets, value)[1]
        else:
            assert ends.lower == 0.0 or value <= shuffles.largest(datasets, ends.lower)[1]
