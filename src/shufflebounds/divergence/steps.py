"""How n draws are reached by doubling: for the doubling engine."""

from __future__ import annotations

import functools
from dataclasses import dataclass


@dataclass(frozen=True)
class Steps:
    """From one draw to half of ``n``, which is at least 2."""

    n: int

    @functools.cached_property
    def doubles(self) -> tuple[bool, ...]:
        """Whether a step doubles what there is; else it adds one draw."""
        steps: list[bool] = []
        for bit in f"{self.n // 2:b}"[1:]:
            steps += [True, False] if bit == "1" else [True]
        return tuple(steps)

    @functools.cached_property
    def draws(self) -> tuple[int, ...]:
        """How many draws there are before the first step and after each."""
        draws = [1]
        for doubles in self.doubles:
            draws.append(2 * draws[-1] if doubles else draws[-1] + 1)
        return tuple(draws)

    @property
    def odd(self) -> bool:
        """Whether one half has a draw more than the other."""
        return self.n % 2 == 1
