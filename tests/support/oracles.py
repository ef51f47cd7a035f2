"""Oracles: the divergence by enumeration of histograms, in rational arithmetic.

Theorem 12 of arXiv 2504.07414: with e = e^ε, g_j = (a_j − e b_j)/c_j and the residual r = 1 − Σc,

    D(ε) = Σ_{c_j=0} (a_j − e b_j)₊ + (1/n) Σ_{h,k} n!/(k! Πh_j!) r^k Πc_j^{h_j} (Σ_j h_j g_j)₊

over the counts h of reports on the components with c_j > 0 and the count k = n − Σh of reports
elsewhere. Floats are dyadic rationals, so that every term is one; only e is not, and is enclosed.

Uncertain entries
-----------------
Let every entry be known within relative R = ``rel_err``, and write P₀, P₁ for the probabilities of
a histogram under both inputs. The true ones obey P₀' ≤ (1+R)^n P₀ and P₁' ≥ (1−R)^n P₁, where the
residual's factor is the same r^k in all of them. As log(1+R) and −log(1−R) are at most R/(1−R),

    (P₀' − e P₁')₊ ≤ e^s (P₀ − e^{ε−2s} P₁)₊,    s = nR/(1−R),

and with the sign of s reversed from below. Every coefficient of r^k above is ≥ 0, so D does not
decrease in r as long as all else is fixed: r + R/(1−R) Σc serves from above, r − R/(1−R) Σc (or 0)
from below. A residual of hundreds of digits is rounded the same way, to 100 bits.
Where Σc exceeds 1 by rounding, `Decomposition` has made R at least twice that excess, and a
residual of 0 lies within those bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence.enumeration import histogram_count

# Under a second or so; each is a product of integers of 50 n bits.
MAX_HISTOGRAMS = 20_000

# D(ε) of 10-RR's blanket by direct summation in another program: ε₀, n, ε, D and its digits.
ANCHORS = [
    (4.0, 1000, 1.0, 1.47266946608e-4, 1e-11),
    (4.0, 10_000, 0.4, 4.15804652e-7, 2e-9),
    (0.1, 10_000, 0.001, 2.73015541e-6, 3e-9),
]

# Ratios of P₀ to P₁ are below n·2^2200 (or infinite), so D is constant from here on.
_LARGEST_EPS = 4000
# Of e^x, which is enclosed.
_DIGITS = 60


def exact(decomposition: Decomposition, eps: float, n: int) -> Enclosure:
    """Hockey-stick divergence D(ε) of `n` shuffled reports in the direction (a, b).

    For ``rel_err`` 0 both ends are the exact value rounded outward (but for a 2⁻⁸⁰th of it).
    ``inner`` and ``outer`` are ignored. Raises ValueError for eps < 0, n < 1, and where there are
    more than `MAX_HISTOGRAMS` histograms to sum over.
    """
    eps, n = validation.eps(eps), validation.whole("n", n, minimum=1)
    if decomposition.c.any() and histogram_count(decomposition, n) > MAX_HISTOGRAMS:
        raise ValueError(f"n must have at most {MAX_HISTOGRAMS} histograms, got {n}")
    if not decomposition.c.any():
        n = 1  # Reports that nobody else is sure to send are as good as alone.
    a, b, c = ([Fraction(x) for x in getattr(decomposition, name).tolist()] for name in "abc")
    residual = max(Fraction(0), 1 - sum(c))
    # Relative to an entry or to what it stands for, whichever is more.
    rel_err = Fraction(decomposition.rel_err) / (1 - Fraction(decomposition.rel_err))
    doubt = rel_err * sum(c)
    shift = n * rel_err
    loss = Fraction(min(eps, _LARGEST_EPS))
    most, least = _short(residual + doubt, 1), _short(max(Fraction(0), residual - doubt), 0)
    ceiling = _divergence(a, b, c, most, _exp(loss - 2 * shift)[0], n) * _exp(shift)[1]
    floor = _divergence(a, b, c, least, _exp(loss + 2 * shift)[1], n)
    return Enclosure(_round(floor * _exp(-shift)[0], -math.inf), _round(ceiling, math.inf))


def exact_delta(decomposition: Decomposition, eps: float, n: int) -> Enclosure:
    """The same in the direction where it is larger, equal components united."""
    ends = [exact(one, eps, n) for one, _ in decomposition.directions]
    return Enclosure(max(one.lower for one in ends), max(one.upper for one in ends))


def _divergence(
    a: Sequence[Fraction],
    b: Sequence[Fraction],
    c: Sequence[Fraction],
    residual: Fraction,
    exp_eps: Fraction,
    n: int,
) -> Fraction:
    """The formula above, exactly, at a rational e^ε."""
    excess = [x - exp_eps * y for x, y in zip(a, b, strict=True)]
    apart = sum((max(d, Fraction(0)) for d, z in zip(excess, c, strict=True) if z == 0), Fraction())
    values = [d / z for d, z in zip(excess, c, strict=True) if z > 0]
    masses = [z for z in c if z > 0]
    if residual > 0:
        values, masses = [*values, Fraction(0)], [*masses, residual]
    # Integers from here on: masses are dyadic, and values have a common denominator.
    unit = math.lcm(*(value.denominator for value in values))
    atoms = [
        (mass.numerator, 1 - mass.denominator.bit_length(), int(value * unit))
        for mass, value in zip(masses, values, strict=True)
    ]
    total, exponent = _positive_sum(atoms, n)
    return apart + Fraction(total, (n * unit) << -exponent)


def _positive_sum(atoms: list[tuple[int, int, int]], n: int) -> tuple[int, int]:
    """Σ n!/Πh! Πmass^h (Σ h·value)₊ over the counts h of n draws, as t and e ≤ 0 of t·2^e.

    Atoms are (m, e, value) with e ≤ 0 and a mass of m·2^e.
    """
    lowest = min(exponent for _, exponent, _ in atoms)
    scaled = [(mass << (exponent - lowest), value) for mass, exponent, value in atoms]
    total = sum(weight * value for weight, value in _multinomial(scaled, n) if value > 0)
    return total, n * lowest


def _multinomial(
    atoms: Sequence[tuple[int, int]], n: int, first: int = 0
) -> Iterator[tuple[int, int]]:
    """Weight n!/Πh! Πmass^h and value Σ h·value of every way h to put n draws on the atoms.

    Of the atoms from `first` on. It calls itself once for each atom that is drawn.
    """
    if n == 0:
        yield 1, 0
        return
    for i in range(first, len(atoms)):
        mass, value = atoms[i]
        fewest = n if i + 1 == len(atoms) else 1  # the last takes what is left
        power = mass**fewest
        for h in range(fewest, n + 1):
            factor = math.comb(n, h) * power
            for weight, total in _multinomial(atoms, n - h, i + 1):
                yield factor * weight, total + h * value
            power *= mass


def _short(x: Fraction, up: int) -> Fraction:
    """A dyadic rational of at most 100 bits next to `x` ≥ 0: not below it if `up`, else not above.

    Residuals of tiny masses have a thousand bits, all of them 1.
    """
    shift = 100 - (x.numerator.bit_length() - x.denominator.bit_length() + 1)
    dyadic = x.denominator & (x.denominator - 1) == 0
    if dyadic and x.denominator.bit_length() <= shift + 1:
        return x
    return Fraction((x.numerator << shift) // x.denominator + up, 1 << shift)


def _exp(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around e^x that enclose e^x − 1 to some sixty digits; e^0 is exact."""
    if x == 0:
        return Fraction(1), Fraction(1)
    leading_zeros = max(0, x.denominator.bit_length() - x.numerator.bit_length()) // 3 + 1
    with localcontext(prec=_DIGITS + leading_zeros, Emin=MIN_EMIN, Emax=MAX_EMAX) as context:
        ends = []
        for rounding in (ROUND_FLOOR, ROUND_CEILING):
            context.rounding = rounding
            ends.append((Decimal(x.numerator) / Decimal(x.denominator)).exp())
        # Decimal.exp rounds to nearest, whatever the context says.
        return Fraction(ends[0].next_minus()), Fraction(ends[1].next_plus())


def _round(x: Fraction, towards: float) -> float:
    """The float next to `x` in the direction of ±inf, or `x` itself where it is a float."""
    nearest = float(x)
    beyond = Fraction(nearest) >= x if towards > 0 else Fraction(nearest) <= x
    return nearest if beyond else math.nextafter(nearest, towards)
