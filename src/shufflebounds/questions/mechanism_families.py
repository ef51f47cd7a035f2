"""The mechanisms that fit an estimation task, with the range of their one free parameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.enclosure import outward
from shufflebounds.core.number import Number, Real, Whole
from shufflebounds.estimation import accuracy
from shufflebounds.estimation.accuracy import Spread, Supports
from shufflebounds.protocols.base import Calibrated, MultiMessage
from shufflebounds.protocols.messages import CheuZhilyaev, Dump
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.gaussian import MAX_SIGMA, MIN_SIGMA, Gaussian
from shufflebounds.randomizers.registry import mechanism

# The ways to report several attributes, and what each of them is called.
WAYS = {
    "separate": "one shuffle for each attribute",
    "one": "one attribute, drawn at random",
    "linked": "all attributes in one report",
}
# Largest number of values of a grid for numbers that a search tries.
_MAX_GRID = 4096
# Cells of Gaussian noise: ε is up to 1e-3 larger than with 400, which take three times as long.
_GAUSSIAN_CELLS = 150
# ε₀ of a message above which its flips are negligible: its error differs by less than 10⁻⁹.
NO_FLIPS_EPS0 = 200.0


# What users hold, and what they may send.
LIMITS: tuple[Number[Any], ...] = (
    Whole("items", "number of different values that a user holds", ge=1, symbol="I", default=1),
    Whole(
        "attributes",
        "attributes of a user, each with --values values",
        ge=1,
        le=validation.MAX_JOINT,
        symbol="A",
        default=1,
    ),
    Real("most_bits", "the most bits that a user may send in a round", symbol="B"),
    replace(
        validation.EPS0,
        name="most_eps0",
        meaning="the largest eps0 of everything a user sends in a round, which remains if the "
        "shuffler fails. Separate shuffles share it",
        symbol="E",
    ),
    Whole(
        "most_messages",
        "the most messages of a user in a shuffle. Above 1, protocols of several messages compete",
        ge=1,
        le=10**6,
        symbol="M",
        default=1,
    ),
)


@dataclass(frozen=True)
class Task:
    """What to estimate, from how many users, at which target (ε, δ): see `ranking.choose`."""

    values: int | None
    items: int
    n: int
    eps: float
    delta: float
    attributes: int
    rounds: int
    most_eps0: float | None = None
    most_messages: int = 1

    def __post_init__(self) -> None:
        if self.values is not None:
            validation.values("values", self.values)
            validation.whole("items", self.items, minimum=1, maximum=min(20, self.values - 1))
        elif self.items != 1:
            raise ValueError(f"items must be left out of numbers, got {self.items!r}")
        validation.rounds(self.rounds)
        for limit in LIMITS:
            value = getattr(self, limit.name, None)
            if value is not None:
                limit.check(value)
        if self.rounds * self.attributes * self.items > validation.MAX_ROUNDS:
            raise ValueError(
                f"rounds must leave at most {validation.MAX_ROUNDS} shuffles in all, got "
                f"{self.rounds!r}"
            )

    @staticmethod
    def of(protocol: Calibrated) -> Task:
        """Return the task of a calibrated protocol."""
        return Task(
            protocol.values,
            1,
            validation.users(protocol.n),
            protocol.target,
            protocol.delta,
            protocol.attributes,
            protocol.rounds,
            most_messages=protocol.most_messages,
        )

    @property
    def ways(self) -> tuple[str, ...]:
        """The `WAYS` to report the attributes."""
        return tuple(WAYS) if self.attributes > 1 else ("separate",)

    @property
    def curator_mse(self) -> float:
        """The error of a trusted curator, for one attribute in one round."""
        sums = self.attributes * self.rounds
        if self.values is None:
            return accuracy.curator_mse_of_mean(self.n, self.eps, self.delta, sums=sums)
        return accuracy.curator_mse(
            self.values, self.n, self.eps, self.delta, items=self.items, sums=sums
        )


@dataclass(frozen=True)
class MechanismFamily:
    """A mechanism by name, with one free parameter or none.

    ``parameters`` returns the parameters for a value of the free one, ``smallest`` to ``largest``.
    ``spread`` and ``bits`` are those of one report, and ``shuffles`` is the number of shuffles for
    one attribute. ``protocol`` makes a protocol of several messages from ε₀ and the parameters.
    ``like`` names an earlier family that has the same best parameter. ``noise`` makes a mechanism
    without an ε₀: from its ε at the target's δ, in place of ε₀, and the parameters.
    """

    name: str
    parameters: Callable[[int], dict[str, Any]]
    smallest: int = 1
    largest: int = 1
    preparation: str = ""
    spread: Callable[[Any], Spread] = lambda randomizer: randomizer._variances()
    bits: Callable[[Any], float] = lambda randomizer: float(randomizer.bits)
    shuffles: int = 1
    protocol: Callable[..., MultiMessage] | None = None
    like: str = ""
    noise: Callable[..., Randomizer] | None = None

    @property
    def has_clone(self) -> bool:
        """Whether a report is ε₀-LDP, so that the stronger clone of ε₀ bounds it."""
        return self.protocol is None and self.noise is None

    def make(self, eps0: float, parameter: int) -> Randomizer | MultiMessage:
        """Return the mechanism with this ε₀ and this value of the free parameter."""
        maker: Callable[..., Any] = self.noise or self.protocol or mechanism(self.name)
        made: Randomizer | MultiMessage = maker(eps0=eps0, **self.parameters(parameter))
        return made


def mechanism_families(task: Task) -> Iterator[MechanismFamily]:
    """Yield the mechanisms that fit a task."""
    k, s = task.values, task.items
    if k is None:
        yield from _families_for_numbers()
        # Over several shuffles, the noise takes half a minute.
        if task.most_eps0 is None and task.rounds == task.attributes == 1:
            yield from _gaussian_families(task.delta)
    elif s == 1:
        yield from _families_for_values(k)
        if task.most_messages > 1:
            yield from _families_of_messages(k, task.most_messages - 1)
    else:
        yield from _families_for_sets(k, s)


def _families_for_values(k: int) -> Iterator[MechanismFamily]:
    """Yield the mechanisms for one of k values."""
    yield MechanismFamily("krr", lambda _: {"k": k})
    if k > 2:
        yield MechanismFamily("subset", lambda m: {"domain_size": k, "subset_size": m}, 2, k - 1)
    yield MechanismFamily(
        "local_hash", lambda m: {"domain_size": k, "hash_values": m}, 3, validation.MAX_VALUES
    )
    # The odds are those of local hashing with m hash values; the bits need no seed.
    yield MechanismFamily(
        "unary",
        lambda m: {"domain_size": k, "noise": 1.0 / m},
        3,
        validation.MAX_VALUES,
        like="local_hash",
    )
    for name in ("oue", "rappor", "blh", "hadamard"):
        yield MechanismFamily(name, lambda _: {"domain_size": k})
    yield MechanismFamily("hadamard_blocks", lambda m: {"domain_size": k, "blocks": m}, 2, k)


def _families_of_messages(k: int, max_blankets: int) -> Iterator[MechanismFamily]:
    """Yield the protocols with an ε₀-LDP message of one of k values, and blanket messages.

    Dummy points without flips are balls into bins.
    """
    yield MechanismFamily(
        "dump",
        lambda m: {"domain_size": k, "blankets": m},
        1,
        max_blankets,
        spread=lambda dump: dump.spread(),
        protocol=_dump,
    )
    # The error falls with the number of blankets.
    yield MechanismFamily(
        "cheu_zhilyaev",
        lambda _: {"blankets": max_blankets},
        spread=lambda vectors: vectors.spread(k),
        bits=lambda vectors: float(k * (1 + vectors.blankets)),
        protocol=_cheu_zhilyaev,
    )


def _dump(eps0: float, domain_size: int, blankets: int) -> Dump:
    """Return dummy points whose flips are those of k-RR."""
    flip = (domain_size - 1) / (math.exp(min(eps0, NO_FLIPS_EPS0)) + domain_size - 1)
    return Dump(domain_size, flip, blankets=blankets)


def _cheu_zhilyaev(eps0: float, blankets: int) -> CheuZhilyaev:
    """Return vectors with half of ε₀ for each of the two bits that depend on the value."""
    return CheuZhilyaev(1.0 / (1.0 + math.exp(min(eps0, NO_FLIPS_EPS0) / 2.0)), blankets=blankets)


def _families_for_numbers() -> Iterator[MechanismFamily]:
    """Yield the mechanisms for a number in [−1, 1]."""
    yield MechanismFamily("duchi", lambda _: {})
    yield MechanismFamily("piecewise", lambda _: {})
    # Its numbers lie in [0, 1], where distances are half as large.
    yield MechanismFamily(
        "laplace",
        lambda _: {"domain": "rounded", "steps": 16},
        preparation="x as (1 + x)/2",
        spread=lambda randomizer: randomizer._variances().times(4.0),
    )
    yield MechanismFamily(
        "krr",
        lambda m: {"k": m},
        3,
        _MAX_GRID,
        preparation="x rounded at random to one of k evenly spaced numbers",
        spread=lambda randomizer: accuracy.of_grid(_krr_supports(randomizer)),
    )


def _gaussian_families(delta: float) -> Iterator[MechanismFamily]:
    """Yield Gaussian noise for a number in [−1, 1], which lies in [0, 1] there.

    Rounding to 0 and 1 adds to the error, but then the bound for all datasets holds.
    """
    noise = partial(_gaussian, delta=delta)
    yield MechanismFamily(
        "gaussian",
        lambda _: {"domain": "interval"},
        preparation="x as (1 + x)/2",
        spread=lambda randomizer: randomizer._variances().times(4.0),
        noise=noise,
    )
    yield MechanismFamily(
        "gaussian",
        lambda _: {"domain": "binary"},
        preparation="x rounded at random to −1 or 1, as 0 or 1",
        spread=lambda randomizer: accuracy.of_rounded(
            np.array([-1.0, 1.0]), noise=4.0 * randomizer.sigma**2
        ),
        noise=noise,
    )


def _gaussian(eps0: float, domain: str, delta: float) -> Gaussian:
    """Return the least noise, in six digits, that is about (ε₀, δ)-LDP; nothing rests on that."""
    sigma = float(outward(accuracy.gaussian_noise(eps0, delta), up=True))
    noise = Gaussian(min(max(sigma, MIN_SIGMA), MAX_SIGMA), domain, cells=_GAUSSIAN_CELLS)
    return noise.for_delta(delta)


def _families_for_sets(d: int, s: int) -> Iterator[MechanismFamily]:
    """Yield the mechanisms for s of d items."""
    sizes = {"domain_size": d, "items": s}
    yield MechanismFamily("privset", lambda m: {**sizes, "subset_size": m}, 1, d - s)
    yield MechanismFamily(
        "collision", lambda m: {**sizes, "hash_values": m}, s + 1, validation.MAX_VALUES
    )
    yield MechanismFamily(
        "krr",
        lambda _: {"k": d},
        preparation="an item of the user's, drawn at random",
        spread=partial(_random_item_spread, s),
    )
    yield MechanismFamily(
        "krr",
        lambda _: {"k": d},
        preparation="every item of the user's in a shuffle of its own",
        spread=partial(_all_items_spread, s),
        shuffles=s,
    )


def _krr_supports(randomizer: Randomizer) -> Supports:
    """Return the supports of k-RR, which are always known."""
    supports = randomizer._supports()
    assert supports is not None
    return supports


def _random_item_spread(items: int, randomizer: Randomizer) -> Spread:
    """Return the spread if one of the user's items, drawn at random, is reported."""
    supports = _krr_supports(randomizer)
    gap = supports.gap / items
    p = supports.q + gap
    return replace(supports, p=p, miss=1.0 - p, gap=gap, items=items).spread


def _all_items_spread(items: int, randomizer: Randomizer) -> Spread:
    """Return the spread of the sum of a histogram for each of the user's items."""
    spread = _krr_supports(randomizer).spread
    return replace(
        spread,
        histograms=items,
        at=lambda shares: spread.at(shares) + (items - 1) * np.asarray(spread.other_value),
    )
