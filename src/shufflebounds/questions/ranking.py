"""Which mechanism to deploy: the error of each at its best parameters, at equal certified (ε, δ).

Parameters are searched with the ε₀ that blankets allow, which takes milliseconds. Each ε₀ that is
returned is certified to meet the target itself (`largest_eps0`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError, reached
from shufflebounds.core.relation import Relation, common_relation
from shufflebounds.core.validation import Count
from shufflebounds.estimation.accuracy import Error
from shufflebounds.protocols.base import Calibrated, MultiMessage
from shufflebounds.questions.answers import epsilon
from shufflebounds.questions.mechanism_families import (
    NO_FLIPS_EPS0,
    MechanismFamily,
    Task,
    mechanism_families,
)
from shufflebounds.questions.searches import largest_eps0
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.composition import missing_property
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.randomizers.gaussian import Gaussian
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.mixed import Parallel

if TYPE_CHECKING:
    import pandas as pd

# Relative width of ε₀ in one shuffle.
_RTOL = 1e-3
# Relative width of ε₀ in several shuffles, where every probe takes a profile.
_RTOL_OF_SEVERAL_SHUFFLES = 3e-3
# Factor between the first parameters that a search tries.
_FIRST_FACTOR = 4.0
# Smallest factor between two parameters that a search tries.
_LAST_FACTOR = 1.05
# Most steps by which an ε₀ is lowered until `epsilon` is at most the target. Two are usual.
_MAX_STEPS = 10
# Smallest first step, relative to ε; the steps double. The upper end of `epsilon` may jump by 1e-4
# between neighbouring ε₀.
_SMALLEST_STEP = 1e-6


# A function that is called with the number of a step, the number of steps, and what the step does.
Progress = Callable[[int, int, str], object]


def _no_progress(step: int, steps: int, label: str) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class Choice:
    """One mechanism at its best parameters.

    Parameters
    ----------
    name
        The name in `--mechanism` and in configurations, such as ``krr``.
    parameters
        The parameters other than ε₀, by name.
    randomizer
        The randomizer of one attribute at the ε₀ to deploy: ``eps0.lower``, or its share of that. A
        protocol, if several messages are sent.
    way
        How attributes are reported: ``separate``, ``one`` or ``linked``.
    preparation
        What a user does before the mechanism, such as rounding a number; empty for nothing.
    proof
        Why ε₀ is certified: ``best`` (the mechanism's own ε), ``blanket`` or ``clone``.
    eps0
        ε₀ of everything a user sends in a shuffle (natural log), against an attacker who knows the
        blanket messages, which do not depend on the user. ``lower`` meets the target, and `epsilon`
        there is at most the target. ``upper`` misses the target, or ``proof`` does not show that it
        meets it. Gaussian noise has no ε₀: the number is about the ε of a single report at the
        target's δ.
    error
        The error of one attribute's estimate from the reports at ``eps0.lower``.
    mse
        Bounds of `error.mse` between the ends of ``eps0``; its upper end is that of ``error``.
    bits
        The number of bits of everything a user sends in a round.
    shuffles
        The number of shuffles in which a user sends something in a round.

    Examples
    --------
    >>> best = sb.choose(2, n=100_000, eps=1.0, delta=1e-6, most_bits=2).best
    >>> best.name, best.proof, f"{best.eps0.lower:.1f}"
    ('krr', 'best', '8.0')
    """

    name: str
    parameters: Mapping[str, Any]
    # It is a `MultiMessage` only if several messages are allowed. Most callers know that they are
    # not, so that Any spares them an assertion.
    randomizer: Randomizer | Any
    way: str
    preparation: str
    proof: str
    eps0: Enclosure
    error: Error
    mse: Enclosure
    bits: float
    shuffles: int = 1

    @property
    def eps0_of_round(self) -> float | None:
        """ε₀ of everything a user sends in a round, rounded up; it remains if the shuffler fails.

        ``eps0.lower`` times ``shuffles``; None for Gaussian noise.
        """
        return (
            None
            if self.is_gaussian
            else Enclosure(self.eps0.lower, self.eps0.lower).times(self.shuffles).upper
        )

    @property
    def is_gaussian(self) -> bool:
        """Whether it is Gaussian noise, which has no ε₀."""
        return isinstance(self.randomizer, Gaussian)

    @property
    def messages(self) -> int:
        """The number of messages that a user sends in a shuffle for one attribute."""
        return 1 + (self.randomizer.blankets if isinstance(self.randomizer, MultiMessage) else 0)


@dataclass(frozen=True)
class Ranking:
    """Mechanisms by the total error of their estimates, at equal certified central (ε, δ).

    Parameters
    ----------
    choices
        The best parameters of every mechanism, the smallest ``error.mse`` first.
    by_clone
        The best single-message mechanism if ε₀ comes from a bound for every mechanism with that ε₀
        (the stronger clone), as is customary.
    curator_mse
        The error of the same estimate by a trusted curator, who adds independent noise to every
        count (or to the mean): geometric (Laplace) or Gaussian, whichever has the smaller error.

    Examples
    --------
    >>> ranking = sb.choose(16, n=100_000, eps=1.0, delta=1e-6, most_bits=5)
    >>> [choice.name for choice in ranking.choices]
    ['krr', 'hadamard_blocks', 'hadamard']
    >>> f"{ranking.best.mse.upper / ranking.curator_mse:.1f}"
    '10.2'
    """

    choices: tuple[Choice, ...]
    by_clone: Choice
    curator_mse: float

    @property
    def best(self) -> Choice:
        """The first of the choices."""
        return self.choices[0]

    @property
    def relation(self) -> Relation:
        """How neighbouring datasets differ."""
        return common_relation("choices", (choice.randomizer.relation for choice in self.choices))

    def frame(self) -> pd.DataFrame:
        """Return a data frame with a row for each choice; pandas is needed.

        Returns
        -------
        pandas.DataFrame
            The mechanism, its ``parameters`` as text, ``eps0`` (the one to deploy) and that of a
            round, the root mean square error of the estimate, ``mse`` and its ratio to that of a
            trusted curator, bits, and what proves ε₀.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "mechanism": choice.name,
                "parameters": ", ".join(f"{key} = {x}" for key, x in choice.parameters.items()),
                "preparation": choice.preparation,
                "way": choice.way,
                "eps0": choice.eps0.lower,
                "eps0_of_round": choice.eps0_of_round,
                "standard_error": choice.error.standard_error,
                "mse": choice.mse.upper,
                "times_curator": choice.mse.upper / self.curator_mse,
                "messages": choice.messages,
                "bits": choice.bits,
                "proof": choice.proof,
            }
            for choice in self.choices
        )


def choose(
    values: int | None,
    *,
    n: Count,
    eps: float,
    delta: float,
    items: int = 1,
    attributes: int = 1,
    rounds: int = 1,
    most_bits: float | None = None,
    most_eps0: float | None = None,
    most_messages: int = 1,
    progress: Progress | None = None,
) -> Ranking:
    """Rank the mechanisms that estimate shares of users, or a mean, at equal central (ε, δ).

    Each mechanism has the parameters (values in a report, hash values, blocks) with the smallest
    total error, and the largest ε₀ that is certified to meet the target. The assumptions on users
    are those of `epsilon`.

    Parameters
    ----------
    values
        Number of values, 2 to 2⁵³, of which a user holds one; None for numbers in [−1, 1], whose
        mean is estimated.
    n
        Number of users who report and do not collude, 1 to 10¹⁵.
    eps, delta
        Target ε and δ, natural log and probability: 0 ≤ ε ≤ 300 and 10⁻³⁰⁰ ≤ δ < 1.
    items
        Number of different values that a user holds (a set), 1 to 20 and below `values`.
    attributes
        Number of such attributes of every user, 1 to 100. All ways to report them are ranked.
    rounds
        Number of rounds, 1 to 10⁶, whose reports together meet the target. Each round has its own
        shuffles.
    most_bits
        The largest number of bits that a user sends in a round; None for any number.
    most_eps0
        The largest ε₀ of everything a user sends in a round (natural log), up to 300: what remains
        if the shuffler fails. Separate shuffles share it equally. None for any.
    most_messages
        The largest number of messages of a user in a shuffle, 1 to 10⁶. If it is more than 1, the
        ranking includes protocols that hide a user's value among messages that depend on nobody
        (for values, each attribute by itself).
    progress
        Called before each step with its number, the number of steps, and what it does. Some steps
        search parameters, and later ones certify ε₀; each phase counts from 1.

    Returns
    -------
    Ranking
        The ranking; its errors are those of one attribute in one round.

    Raises
    ------
    ValueError
        For an argument outside these ranges, and if no mechanism meets the target or has as few
        bits.

    Notes
    -----
    docs/proofs/errors.md has the formulas, and docs/accuracy.md says when not to trust a ranking.

    Examples
    --------
    >>> best = sb.choose(256, n=2_000_000, eps=1.0, delta=1e-8).best
    >>> best.name, f"{best.eps0.lower:.2f}", f"{best.error.standard_error:.1e}"
    ('krr', '10.39', '5.5e-06')
    """
    n = validation.users(n)
    task = Task(values, items, n, eps, delta, attributes, rounds, most_eps0, most_messages)
    show = progress or _no_progress
    candidates = [candidate for way in task.ways for candidate in _task_mechanisms(task, way, show)]
    allowed_candidates = [x for x in candidates if most_bits is None or x.bits <= most_bits]
    if not allowed_candidates:
        smallest = min(candidates, key=lambda candidate: candidate.bits)
        raise ValueError(
            f"most_bits must be at least {smallest.bits:.6g}, which {smallest.family.name} takes, "
            f"the fewest of all mechanisms here, got {most_bits!r}"
        )
    pairs = []
    for step, candidate in enumerate(allowed_candidates, start=1):
        show(step, len(allowed_candidates), f"eps0 of {candidate.family.name}")
        pairs.append((candidate.certified(), candidate))
    pairs.sort(key=lambda pair: pair[0].mse.upper)
    clones = (candidate.by_clone() for _, candidate in pairs if candidate.family.has_clone)
    by_clone = min(clones, key=lambda choice: choice.mse.upper)
    return Ranking(tuple(choice for choice, _ in pairs), by_clone, task.curator_mse)


def calibrated(protocol: Calibrated) -> Choice:
    """Return the choice of one mechanism of values by name, as `choose` ranks it.

    Raises ValueError for other names.
    """
    task = Task.of(protocol)
    families = {family.name: family for family in mechanism_families(task)}
    family = families[validation.choice("mechanism", protocol.mechanism, families)]
    validation.choice("way", protocol.way, task.ways)
    best = _TaskMechanism(task, family, protocol.way, family.smallest).with_best_parameter()
    by_clone = validation.choice("by", protocol.by, ("mechanism", "clone")) == "clone"
    return best.by_clone() if by_clone else best.certified()


# A function from ε₀ to a decomposition or randomizer of everything a user sends in a shuffle.
Deployable = Callable[[float], Decomposition | Randomizer]


@dataclass(frozen=True)
class _TaskMechanism:
    """A mechanism for a task, with a value of its free parameter, reported in one of the ways."""

    task: Task
    family: MechanismFamily
    way: str
    parameter: int = 1

    def attribute_mechanism(self, eps0: float) -> Randomizer | MultiMessage:
        """Return the mechanism of one attribute; `eps0` is that of everything in a shuffle."""
        share = eps0 / self.task.attributes if self.way == "linked" else eps0
        return self.family.make(share, self.parameter)

    def randomizer(self, eps0: float) -> Randomizer:
        """Return the mechanism of one attribute, which must send one message."""
        randomizer = self.attribute_mechanism(eps0)
        assert isinstance(randomizer, Randomizer)
        return randomizer

    def blanket(self, eps0: float) -> Decomposition:
        """Return the blanket of everything a user sends in a shuffle."""
        attribute, count = self.attribute_mechanism(eps0), self.task.attributes
        if isinstance(attribute, MultiMessage):
            return attribute.decomposition()
        if self.way == "linked":
            return Joint([attribute] * count).blanket()
        if self.way == "one":
            return Parallel([(1.0 / count, attribute)] * count).blanket()
        return attribute.blanket()

    @property
    def shuffles_of_round(self) -> int:
        """The number of shuffles in which a user sends something in a round."""
        return self.family.shuffles * (self.task.attributes if self.way == "separate" else 1)

    @property
    def shuffles(self) -> int:
        """The number of shuffles that together meet the target."""
        return self.task.rounds * self.shuffles_of_round

    @property
    def draws(self) -> int:
        """The number of messages of a shuffle that do not depend on the victim, plus one."""
        attribute, n = self.attribute_mechanism(1.0), self.task.n
        return attribute.draws(n) if isinstance(attribute, MultiMessage) else n

    @property
    def bits(self) -> float:
        """The number of bits of everything a user sends in a round."""
        bits = self.family.bits(self.attribute_mechanism(1.0)) * self.family.shuffles
        count = self.task.attributes
        return bits + math.log2(count) if self.way == "one" else bits * count

    def error(self, eps0: float) -> Error:
        """Return the error of one attribute's estimate."""
        spread = self.family.spread(self.attribute_mechanism(eps0))
        if self.way == "one":
            spread = spread.sampled(1.0 / self.task.attributes)
        return spread.error(self.task.n, None)

    @property
    def max_eps0(self) -> float:
        """The largest ε₀ of a shuffle with which those of a round keep to the task's limit."""
        if self.task.most_eps0 is None:
            return validation.MAX_EPS0
        share = self.task.most_eps0 / self.shuffles_of_round
        while Enclosure(share, share).times(self.shuffles_of_round).upper > self.task.most_eps0:
            share = math.nextafter(share, 0.0)
        return share

    def eps0(self, deployable: Deployable) -> Enclosure:
        """Return the largest ε₀ that meets the target, by the bounds of `deployable`."""
        rtol = _RTOL if self.shuffles == 1 else _RTOL_OF_SEVERAL_SHUFFLES
        task, max_eps0 = self.task, self.max_eps0
        if isinstance(self.attribute_mechanism(1.0), MultiMessage):
            max_eps0 = min(max_eps0, NO_FLIPS_EPS0)
        options: dict[str, Any] = {"rounds": self.shuffles, "rtol": rtol, "most": max_eps0}
        try:
            eps0 = largest_eps0(deployable, task.eps, task.delta, self.draws, **options)
        except PrecisionError as error:
            # A lower end above 0 meets the target, however wide the enclosure is.
            eps0 = error.enclosure
            if not eps0.lower > 0.0:
                raise
        return Enclosure(eps0.lower, min(eps0.upper, max_eps0))

    def eps0_within_reported_eps(self, deployable: Deployable, eps0: float) -> float:
        """Return an ε₀ of at most `eps0` at which `epsilon` is at most the target.

        `largest_eps0` compares δ at the target's ε. `epsilon` encloses ε at δ, less closely.
        """
        task, smaller_eps0 = self.task, eps0
        for step in range(_MAX_STEPS):
            eps = reached(
                partial(
                    epsilon, deployable(smaller_eps0), self.draws, task.delta, rounds=self.shuffles
                )
            ).upper
            if eps <= task.eps:
                return smaller_eps0
            if math.isinf(eps):
                # The work budget is spent.
                return eps0
            excess = math.log(eps / task.eps) if task.eps > 0.0 else _RTOL
            excess = max(excess, _SMALLEST_STEP * 2.0**step)
            # ε grows about like e^{ε₀/2} − 1, which makes the factor 2; the rest is a margin.
            smaller_eps0 += 2.1 * math.expm1(-0.5 * smaller_eps0) * excess
        return smaller_eps0

    def with_best_parameter(self) -> _TaskMechanism:
        """Return a copy with the parameter that has the smallest error at the blanket's ε₀."""
        if self.family.smallest == self.family.largest:
            return self

        @cache
        def mse(parameter: int) -> float:
            mechanism = replace(self, parameter=parameter)
            return mechanism.error(mechanism.eps0(mechanism.blanket).lower).mse

        best = _cheapest(mse, self.family.smallest, self.family.largest)
        return replace(self, parameter=best)

    def certified(self) -> Choice:
        """Return the choice by the mechanism's own ε, or by the blanket's."""
        is_single = self.shuffles == 1 and self.way == "separate" and not self.family.protocol
        if is_single and self.randomizer(1.0).crowds():
            return self._choice(self.randomizer, "best")
        # The blanket of noise is made of cells, and does not tell which ε₀ misses the target.
        is_noise = self.family.noise is not None
        return self._choice(self.randomizer if is_noise else self.blanket, "blanket")

    def by_clone(self) -> Choice:
        """Return the choice by the bound for every mechanism with the same ε₀.

        docs/proofs/variation-ratio.md, section 5, proves that bound.
        """
        return self._choice(lambda eps0: KRR(2, eps0).blanket(), "clone")

    def _choice(self, deployable: Deployable, proof: str) -> Choice:
        """Return the choice at the largest ε₀ by the bounds of `deployable`."""
        eps0 = self.eps0(deployable)
        eps0 = Enclosure(self.eps0_within_reported_eps(deployable, eps0.lower), eps0.upper)
        errors = [self.error(end) for end in (eps0.lower, eps0.upper)]
        attribute = self.attribute_mechanism(eps0.lower)
        parameters = self.family.parameters(self.parameter)
        if isinstance(attribute, MultiMessage):
            parameters["flip"] = vars(attribute)["flip"]
        elif isinstance(attribute, Gaussian):
            parameters["sigma"] = attribute.sigma
        return Choice(
            self.family.name,
            parameters,
            attribute,
            way=self.way,
            preparation=self.family.preparation,
            proof=proof,
            eps0=eps0,
            error=errors[0],
            mse=Enclosure(min(error.mse for error in errors), errors[0].mse),
            bits=self.bits,
            shuffles=self.shuffles_of_round,
        )


def _task_mechanisms(task: Task, way: str, progress: Progress) -> Iterator[_TaskMechanism]:
    """Yield the mechanisms for a task at their best parameters, reported in one way.

    A mechanism is left out if its reports cannot be composed that way. It is also left out if
    reports are linked, there are several rounds, and its parameter has to be searched: composing
    linked reports takes seconds.
    """
    best: dict[str, int] = {}
    families = list(mechanism_families(task))
    offset, steps = task.ways.index(way) * len(families), len(task.ways) * len(families)
    for place, family in enumerate(families, start=1):
        progress(offset + place, steps, f"parameters of {family.name}")
        parameter = best.get(family.like, family.smallest)
        candidate = _TaskMechanism(task, family, way, parameter)
        takes_long = way == "linked" and task.rounds > 1 and family.smallest < family.largest
        if takes_long or (way != "separate" and family.protocol):
            continue
        if way == "separate" or not missing_property(candidate.randomizer(1.0)):
            if family.like not in best:
                candidate = candidate.with_best_parameter()
            best[family.name] = candidate.parameter
            yield candidate


def _cheapest(cost: Callable[[int], float], smallest: int, largest: int) -> int:
    """Return the number with about the smallest cost, by steps of ever smaller factors."""
    best, factor = smallest, _FIRST_FACTOR
    while factor > _LAST_FACTOR:
        steps = {
            max(round(best / factor), smallest),
            min(max(round(best * factor), best + 1), largest),
        }
        better = min(steps, key=cost)
        if cost(better) < cost(best):
            best = better
        elif best * (factor - 1.0) < 1.0:
            break
        else:
            factor = math.sqrt(factor)
    return best
