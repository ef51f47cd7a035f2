"""Whether one decomposition is below or above another for every convex function, in fractions.

The divergence of any number of users is such a sum, in each user's component, or a limit of some.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from random import Random

import shufflebounds as sb
from shufflebounds import Decomposition

# Joints of continuous reports, and an ε to ask about.
JOINTS = {
    "blankets": ([sb.Laplace(2.0, 6).blanket()] * 3, 0.3),
    "blankets, most of them losses": ([sb.Laplace(2.0, 6).blanket()] * 3, 4.0),
    "pairs": ([sb.Laplace(3.0, 90).dataset_pair()] * 2, 1.0),
    "pairs the other way": ([sb.Laplace(3.0, 90).dataset_pair().swap()] * 2, 1.0),
    "pairs on the interval": (
        [
            sb.Laplace(1.0, 9, domain="interval", others=0.5).dataset_pair(),
            sb.Laplace(1.5, 11, domain="interval", others=1.0).dataset_pair(),
        ],
        0.2,
    ),
    "mixed": (
        [sb.Laplace(1.0, 8).blanket(), sb.Laplace(0.7, 7).blanket(), sb.RAPPOR(1.0).blanket()],
        0.2,
    ),
    "of tiny eps0": ([sb.Laplace(1e-8, 6).blanket()] * 3, 1e-9),
    "of large eps0": ([sb.Laplace(20.0, 15).blanket()] * 2, 18.0),
    "rare": ([sb.subsample(sb.Laplace(3.0, 9).blanket(), 0.01)] * 2, 0.4),
}

Row = list[Fraction]
Form = tuple[Fraction, ...]


@functools.cache
def joint(kind: str) -> Decomposition:
    """One of `JOINTS`."""
    return functools.reduce(Decomposition.joint, JOINTS[kind][0])


def alone(pair: Decomposition) -> list[Decomposition]:
    """Both ends as decompositions of their own."""
    return [Decomposition(end.a, end.b, end.c, end.rel_err) for end in pair.bounds()]


def assert_ordered(
    before: Decomposition, after: Decomposition, sign: int, source: Random, sums: int
) -> None:
    """`after` is above (sign 1) or below (−1) `before`, up to its errors, for some random sums.

    Every form (α, β, γ) is chosen where it decides: near the ratios of some component.
    """
    old, new = _fractions(before), _fractions(after)
    for row, other in zip(old, new, strict=True):
        assert abs(sum(row) - sum(other)) <= Fraction(after.rel_err) * sum(row)
    for _ in range(sums):
        forms = [(Fraction(0), Fraction(0), Fraction(0))]
        for _ in range(source.randint(1, 3)):
            j = source.randrange(len(before))
            al, be = (Fraction(source.uniform(-1.0, 1.0)) for _ in range(2))
            ga = -(al * old[0][j] + be * old[1][j]) / old[2][j]
            scale = max(abs(al), abs(be), abs(ga), Fraction(1))
            forms.append((al / scale, be / scale, ga / scale))
        change = sign * (_sublinear_sum(forms, new) - _sublinear_sum(forms, old))
        assert change >= -_slack(forms, old, after.rel_err)


def _fractions(end: Decomposition) -> list[Row]:
    return [[Fraction(x) for x in row.tolist()] for row in (end.a, end.b, end.c)]


def _sublinear_sum(forms: list[Form], masses: list[Row]) -> Fraction:
    """Σ max over the forms (α, β, γ) of αa + βb + γc, exactly: convex and homogeneous."""
    return sum(
        (
            max(al * a + be * b + ga * c for al, be, ga in forms)
            for a, b, c in zip(*masses, strict=True)
        ),
        Fraction(0),
    )


def _slack(forms: list[Form], masses: list[Row], rel_err: float) -> Fraction:
    """By how much such a sum changes at most if every entry does by so much, relatively."""
    most = [max(abs(form[i]) for form in forms) for i in range(3)]
    return Fraction(rel_err) * sum(x * sum(row) for x, row in zip(most, masses, strict=True))
