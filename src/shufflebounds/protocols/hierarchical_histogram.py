"""Range queries by hierarchical histograms (Cormode, Kulkarni and Srivastava, PVLDB 2019)."""

from __future__ import annotations

from dataclasses import dataclass

from shufflebounds import validation
from shufflebounds.mixtures import parallel
from shufflebounds.protocols.base import Candidate, InfeasibleError, Protocol
from shufflebounds.randomizers.krr import KRR


@dataclass(frozen=True)
class HierarchicalHistogram(Protocol):
    """A user draws one of log₂ d levels and sends its node there by randomized response.

    Levels are equally likely, and have 2, 4, …, d nodes, each the half of one above it. Inputs in
    different halves differ on all levels and are the worst (docs/engine.md, section 10), so that
    all pairs of inputs are covered. Raises ValueError unless
    0 < ε₀ ≤ 300 and ``domain_size``, d, is a power of 2, at least 2.
    """

    eps0: float
    domain_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        d = validation.whole("domain_size", self.domain_size, minimum=2, maximum=2**53)
        if d.bit_count() != 1:
            raise ValueError(f"domain_size must be a power of 2, got {d}")

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """The parallel composition of the levels."""
        levels = self.domain_size.bit_length() - 1
        parts = [KRR(2 ** (level + 1), self.eps0).blanket() for level in range(levels)]
        return (Candidate(parallel([(1.0 / levels, part) for part in parts])),)

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """The others hold x₁¹, or a third value that shares a half with it and nothing else."""
        levels = [
            KRR(2 ** (level + 1), self.eps0).dataset_pairs()
            for level in range(self.domain_size.bit_length() - 1)
        ]
        return tuple(
            Candidate(
                parallel([(1.0 / len(levels), level.get(name, level["x1"])) for level in levels]),
                others=name,
            )
            for name in (("third", "x1") if len(levels) > 1 else ("x1",))
        )


@dataclass(frozen=True)
class SeparateHistograms(Protocol):
    """The same queries without sampling: each level is asked of its own share of the users.

    ⌊n/log₂ d⌋ users report on a level of ``nodes`` nodes by randomized response, and only they hide
    each other. The level of 2 nodes is the worst, and all that may be claimed for the users as a
    whole; that of d is the best. n counts the users of all levels. Raises ValueError unless
    0 < ε₀ ≤ 300, ``domain_size`` d is a power of 2, at least 2, and ``nodes`` a power of 2 from 2
    to d.
    """

    eps0: float
    domain_size: int
    nodes: int = 2

    def __post_init__(self) -> None:
        HierarchicalHistogram(self.eps0, self.domain_size)
        nodes = validation.whole("nodes", self.nodes, minimum=2, maximum=self.domain_size)
        if nodes.bit_count() != 1:
            raise ValueError(f"nodes must be a power of 2, got {nodes}")

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """The randomized response of that level."""
        return (Candidate(KRR(self.nodes, self.eps0).blanket()),)

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """The others of that level hold a third node, or the victim's second one."""
        pairs = KRR(self.nodes, self.eps0).dataset_pairs()
        return tuple(Candidate(pair, others=name) for name, pair in pairs.items())

    def draws(self, n: int) -> int:
        """Users of one level; `InfeasibleError` where there is none."""
        users = validation.users(n) // (self.domain_size.bit_length() - 1)
        if not users:
            raise InfeasibleError(
                f"n must leave a user for each level of {self.domain_size}, got {n}"
            )
        return users
