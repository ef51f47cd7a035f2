"""Products of enclosures are rounded outwards."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shufflebounds.core.enclosure import Enclosure

FINITE = st.floats(min_value=0.0, max_value=1e300, allow_subnormal=True)


@given(FINITE, FINITE, st.integers(min_value=1, max_value=10**6))
def test_times_holds_the_product_and_hardly_more(x, y, count):
    ends = Enclosure(min(x, y), max(x, y))
    found = ends.times(count)
    low, high = Fraction(ends.lower) * count, Fraction(ends.upper) * count
    assert found.lower <= low <= high <= found.upper
    assert math.nextafter(found.lower, math.inf) >= low
    assert math.nextafter(found.upper, -math.inf) <= high


@given(FINITE, st.integers(min_value=2**53, max_value=2**200))
def test_counts_that_no_float_holds(x, count):
    found = Enclosure(x, x).times(count)
    assert found.lower <= Fraction(x) * count <= found.upper


@pytest.mark.parametrize("factor", [3.32087125479599e-306, -3.32087125479599e-306])
def test_a_product_that_is_rounded_twice(factor):
    count = 10693370125025559
    found = Enclosure(factor, factor).times(count)
    assert found.lower <= Fraction(factor) * count <= found.upper


def test_exact_products_are_not_rounded():
    assert Enclosure(0.5, 0.75).times(6) == Enclosure(3.0, 4.5)
    assert Enclosure(0.1, 0.3).times(1) == Enclosure(0.1, 0.3)


@pytest.mark.parametrize("count", [1, 7])
def test_infinity_stays(count):
    assert Enclosure(0.0, math.inf).times(count) == Enclosure(0.0, math.inf)
    assert Enclosure(math.inf, math.inf).times(count) == Enclosure(math.inf, math.inf)


def test_overflow_is_safe():
    found = Enclosure(1e308, 1e308).times(100)
    assert found == Enclosure(math.nextafter(math.inf, 0.0), math.inf)


@given(FINITE, FINITE, FINITE)
def test_comparisons_with_numbers_are_true_only_if_certain(x, y, value):
    found = Enclosure(min(x, y), max(x, y))
    assert (found < value, found <= value) == (found.upper < value, found.upper <= value)
    assert (found > value, found >= value) == (found.lower > value, found.lower >= value)
    assert (value > found) == (found < value)
    assert not found < math.nan


@given(FINITE, FINITE, st.sampled_from([".3f", ".0e", ".4g", ".2%"]))
def test_formats_round_outward(x, y, spec):
    found = Enclosure(min(x, y), max(x, y))
    ends = f"{found:{spec}}".strip("[]").replace("%", "e-2").split(", ")
    assert Fraction(ends[0]) <= found.lower <= found.upper <= Fraction(ends[1])


def test_an_enclosure_is_no_number():
    found = Enclosure(0.25, math.inf)
    assert (f"{found}", f"{found:.1f}") == ("Enclosure(lower=0.25, upper=inf)", "[0.2, inf]")
    with pytest.raises(TypeError, match=r"take \.upper to claim it"):
        float(found)
    with pytest.raises(TypeError, match="not supported"):
        _ = found < found
