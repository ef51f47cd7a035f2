"""What holds of every shuffle of ε₀-LDP reports: it is (ε₀, 0)-DP, and T of them (Tε₀, 0)-DP."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from shufflebounds.bounds.base import Answer
from shufflebounds.enclosure import Enclosure


def within_eps0(
    answers: Mapping[str, Answer], eps0: float | None, rounds: int
) -> tuple[dict[str, Answer], list[str]]:
    """Answers on ε none of whose ends is above ε₀ times rounds, and a note if that mattered."""
    cap = _cap(eps0, rounds)
    capped = {
        key: replace(
            answer,
            enclosure=Enclosure(min(answer.enclosure.lower, cap), min(answer.enclosure.upper, cap)),
        )
        for key, answer in answers.items()
    }
    if all(capped[key].enclosure == answer.enclosure for key, answer in answers.items()):
        return capped, []
    what = "eps0" if rounds == 1 else f"{rounds} times eps0"
    return capped, [
        f"The reports are ({what}, 0)-DP before they are shuffled, and so afterwards. Where a "
        f"bound comes out above that, {what} stands in its place."
    ]


def is_zero(eps: float, eps0: float | None, rounds: int) -> bool:
    """Whether δ(ε) is 0 for want of reports that tell more."""
    return eps >= _cap(eps0, rounds)


def _cap(eps0: float | None, rounds: int) -> float:
    """ε₀ times rounds, rounded up; inf where there is no ε₀."""
    return math.inf if eps0 is None else Enclosure(eps0, eps0).times(rounds).upper
