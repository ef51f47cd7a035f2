"""Composition: certified ε and δ of many rounds that may differ.

Upper ends hold for rounds that are chosen adaptively. Each round is dominated by the larger of both
orders of its decomposition as a curve (Zhu, Dong, Wang, AISTATS 2022, Theorem 10). Lower ends are
those of independent rounds on one fixed pair of datasets. docs/proofs/composition.md proves both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.relation import Relation
from shufflebounds.core.validation import Count
from shufflebounds.core.work import limited
from shufflebounds.profiles.profile import Quantity
from shufflebounds.profiles.rounds import Sums
from shufflebounds.questions.answers import Sent
from shufflebounds.questions.intervals import repeated
from shufflebounds.questions.plan import Plan
from shufflebounds.subjects.base import Aim
from shufflebounds.subjects.reports import subject_of_round
from shufflebounds.subjects.schedule import Phase, Schedule

# The number of users that a question about a schedule names. Its phases have their own.
ANY_N = 1


@dataclass(frozen=True, eq=False)
class Composed:
    """Rounds of shuffling, one after the other, as `compose` makes them.

    Parameters
    ----------
    schedule
        Rounds of one kind each: what is sent, the number of users, how many times.

    Raises
    ------
    ValueError
        For rounds of different neighbouring relations.

    Examples
    --------
    >>> five = sb.compose([(sb.KRR(k=10, eps0=2.0).blanket(), 10_000, 5)])
    >>> five.delta(eps=5 * 2.0 + 0.01)  # 0 beyond the local ε₀ of all rounds together
    Enclosure(lower=0.0, upper=0.0)
    """

    schedule: Schedule

    def __repr__(self) -> str:
        phases = ", ".join(f"{phase.times} × n = {phase.n}" for phase in self.schedule.phases)
        return f"<Composed: {phases}>"

    @property
    def relation(self) -> Relation:
        """The neighbouring relation of all rounds."""
        return self.schedule.relation

    @cached_property
    def plan(self) -> Plan:
        """The rounds as a question asks them. It keeps their losses."""
        return Plan(self.schedule)

    @property
    def is_ordered(self) -> bool:
        """Whether the two datasets keep their order in some rounds, as in epochs of training."""
        return any(shuffle.is_ordered for shuffle in self.schedule.shuffles(ANY_N))

    def losses(self, smallest: float, rtol: float) -> Sums:
        """Return losses of all rounds that serve every δ from `smallest` on.

        Parameters
        ----------
        smallest
            The smallest δ, above 0.
        rtol
            The relative width to aim at of the ε at each δ.

        Returns
        -------
        Sums
            Sums of losses above and below those of all rounds.
        """
        # The cells of several rounds serve many ε.
        aim = Aim(smallest, max(self.schedule.total(1), 2))
        return repeated(self.schedule.shuffles(ANY_N, aim)).sums_of_curve(smallest, rtol)

    @limited
    def epsilon(self, delta: float, *, rtol: float | None = None) -> Enclosure:
        """Enclose the smallest ε at which all rounds together are (ε, δ)-DP.

        Of two datasets that differ by the replacement of one user's input or, for epochs of a
        `RandomAllocation`, by one example that is added or removed (``relation``). n counts users
        who follow the protocol and do not collude. The decomposition must bound the victim's inputs
        in every round: docs/proofs/composition.md, section 1.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.
        rtol
            The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 10⁻³, and leaves out
            of account what separates the ends in theory: a decomposition whose two directions
            differ, several of them in a round, and ``inner`` from ``outer``. In the first two
            cases it is the width to which ``upper`` is known, that of adaptively chosen rounds.
            Where there are more than 200 kinds of rounds, of which a randomizer counts for two,
            it also lets nearly equal numbers of users be joined.

        Returns
        -------
        Enclosure
            Of ε (natural log). At ``upper``, δ(ε) was found to be at most `delta` for rounds chosen
            adaptively. At ``lower``, it was found to be at least `delta` for independent rounds on
            one pair of datasets (or it is 0). Both are inf if no finite ε suffices.

        Raises
        ------
        ValueError
            For an argument outside these ranges.
        PrecisionError
            Where the width stays above `rtol`.

        Examples
        --------
        >>> month = sb.compose([(sb.KRR(k=10, eps0=4.0).blanket(), 100_000, 30)])
        >>> f"{month.epsilon(delta=1e-6).upper:.2f}"
        '0.68'
        """
        at = validation.delta_between(delta)
        return self.plan.answer(Quantity.EPSILON, [at], [ANY_N], rtol).required()[0]

    @limited
    def delta(self, eps: float, *, rtol: float | None = None) -> Enclosure:
        """Enclose the smallest δ at which all rounds together are (ε, δ)-DP.

        Parameters
        ----------
        eps
            ε ≥ 0 (natural log).
        rtol
            The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 0.05, with the same
            exceptions as for `epsilon`.

        Returns
        -------
        Enclosure
            Of δ, a probability; what the ends promise is as for `epsilon`.

        Raises
        ------
        ValueError
            For an argument outside these ranges.
        PrecisionError
            Where the width stays above `rtol`.

        Examples
        --------
        >>> month = sb.compose([(sb.KRR(k=10, eps0=4.0).blanket(), 100_000, 30)])
        >>> f"{month.delta(eps=0.7, rtol=1e-3).upper:.1e}"
        '5.3e-07'
        """
        at = validation.eps_between(eps)
        return self.plan.answer(Quantity.DELTA, [at], [ANY_N], rtol).required()[0]


def compose(
    rounds: Iterable[tuple[Sent | Iterable[Decomposition], Count, int]],
) -> Composed:
    """Collect rounds of shuffling, one after the other, to ask for their ε and δ together.

    Parameters
    ----------
    rounds
        Triples (decomposition, n, times) in any order: n users, 1 to 10¹⁵, and how many such
        rounds; 10⁶ at most in all. In place of the `Decomposition` there may be several, such as
        ``MatrixRandomizer(P).blankets().values()``, any of which may be the worst in any round; or
        a `Randomizer`, of which upper ends are proven for all datasets and lower ends are those of
        pairs of datasets, the same pair in all rounds of a kind; or a `RandomAllocation`, of which
        n is the number of steps and the number of rounds is that of the epochs. All rounds must
        have one neighbouring relation: epochs are about adding or removing an example, all others
        about the replacement of a user's input, unless their ``relation`` says otherwise.

    Returns
    -------
    Composed
        Ask it for ``epsilon(delta)`` or ``delta(eps)``. Its ``relation`` is that of the answers.

    Raises
    ------
    ValueError
        For an empty list, for entries outside these ranges, and for epochs among reports.

    Notes
    -----
    Zhu, Dong and Wang (AISTATS 2022), Theorem 10; assumptions and proofs in
    docs/proofs/composition.md.

    Examples
    --------
    >>> first, then = sb.KRR(k=10, eps0=2.0).blanket(), sb.BLH(1.0).blanket()
    >>> both = sb.compose([(first, 10_000, 5), (then, 20_000, 5)])
    >>> f"{both.epsilon(delta=1e-6).upper:.2f}"
    '0.20'
    """
    triples = list(rounds) if isinstance(rounds, Iterable) else [rounds]
    if not triples or not all(isinstance(triple, tuple) and len(triple) == 3 for triple in triples):
        raise ValueError(
            f"rounds must be one or more triples (decomposition, n, times), got {rounds!r}"
        )
    phases = [
        Phase(subject_of_round(sent), validation.users(n), validation.rounds(times))
        for sent, n, times in triples
    ]
    total = sum(phase.times for phase in phases)
    validation.rounds(total, "rounds, all added up,")
    return Composed(Schedule(phases))
