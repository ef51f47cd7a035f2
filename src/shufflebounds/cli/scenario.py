"""What a question is about: who sends what, and how often."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

from shufflebounds._version import __version__
from shufflebounds.bounds.base import Bound, Kind
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.parameters import flag, own_counts, parameters, words_of
from shufflebounds.core import validation
from shufflebounds.core.clones import STRONGER_CLONE
from shufflebounds.core.enclosure import outward
from shufflebounds.core.setting import Setting
from shufflebounds.core.words import counted
from shufflebounds.protocols.any_mechanism import AnyMechanism
from shufflebounds.protocols.registry import (
    CohortDescription,
    CohortReports,
    ProtocolDescription,
    ReportDescription,
)
from shufflebounds.questions.intervals import has_datasets
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.description import CompositionOf, Description, Part
from shufflebounds.randomizers.gaussian import Gaussian
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.mixed import Subsampled
from shufflebounds.subjects.base import Shuffle, Subject
from shufflebounds.subjects.cohort import Cohort
from shufflebounds.subjects.observation import Words
from shufflebounds.subjects.reports import Reports
from shufflebounds.subjects.schedule import Phase, Schedule

# What does not depend on ε₀ is looked up at this value if ε₀ is sought.
SOME_EPS0 = 1.0
# The same if the noise multiplier is sought.
SOME_NOISE = 1.0
# The same for what does not depend on the number of users.
SOME_USERS = 10**6

# Numbers of users and of rounds.
Rounds: TypeAlias = tuple[int, int]


def honest_users(n: int, colluding: int, dropout: float = 0.0, name: str = "n") -> int:
    """Return the users who provide cover for each other: ⌊n(1 − ``dropout``)⌋ − ``colluding``.

    A share such as 0.1 is the decimal that is written, not the float next to it. Raises ValueError
    if none of the `n` users is left; it calls their number by the ``name``.
    """
    reporting = math.floor(validation.users(n, name) * _kept_share(dropout))
    if reporting < 1:
        raise ValueError(
            f"--dropout must leave a user who reports, got {dropout!r} of {counted(n, 'user')}"
        )
    most = reporting - 1
    return reporting - validation.whole("--colluding", colluding, minimum=0, maximum=most)


def registered_users(honest: int, colluding: int, dropout: float) -> int:
    """Return the fewest users n of whom `honest_users` leaves `honest`."""
    return math.ceil((honest + colluding) / _kept_share(dropout))


def _kept_share(dropout: float) -> Fraction:
    """Return 1 − ``dropout``; ValueError unless 0 <= dropout < 1."""
    return 1 - Fraction(repr(validation.DROPOUT.check(dropout)))


def gaussian_noise(randomizer: Randomizer) -> float | None:
    """Return the σ of a Gaussian report that says no less than those of a randomizer; else None.

    Reports without a clamp, which have no ε₀, are (ε, δ)-LDP all the same. A report that is sent
    with some probability says no more than one that is always sent.
    """
    if isinstance(randomizer, Gaussian):
        return randomizer.sigma
    if isinstance(randomizer, Subsampled):
        return gaussian_noise(randomizer.randomizer)
    if not isinstance(randomizer, Joint):
        return None
    noises = [noise for part in randomizer.parts if (noise := gaussian_noise(part)) is not None]
    if len(noises) < len(randomizer.parts):
        return None
    return 1.0 / math.hypot(*(1.0 / noise for noise in noises))


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Users who send reports of a mechanism or messages of a protocol, in some number of rounds.

    A user sends ``k_joint`` reports together, each with probability ``rate`` (Poisson subsampling).
    If there is a ``cohort``, exactly so many of the n users are drawn anew in every round, and no
    others send anything.
    ``eps0`` is that of everything a user sends in a round; it is None if what is sent fixes it.
    ``eps0``, ``n`` and ``rounds`` are also None if a question asks for them or an axis runs along
    them. The share ``dropout`` of the users does not report, and ``colluding`` of the others
    provide no cover. ``also`` lists further rounds as (number of users, number of rounds).
    ``messages`` and ``noise_multiplier`` are settings of some protocols; the latter is also None if
    a question asks for it.
    ``delta`` is that of the question, if it has one: the ends of some mechanisms are made for it.

    Raises ValueError for a number of users or rounds out of its range, for an ε₀ if none can be
    chosen, and if no user is left who provides cover.
    """

    mechanism: Description | ProtocolDescription
    k_joint: int = 1
    rate: float = 1.0
    cohort: int | None = None
    eps0: float | None = None
    n: int | None = None
    colluding: int = 0
    dropout: float = 0.0
    rounds: int | None = 1
    also: tuple[Rounds, ...] = ()
    messages: int | None = None
    noise_multiplier: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        first = (
            validation.MAX_USERS if self.n is None else self.n,
            1 if self.rounds is None else self.rounds,
        )
        counts, no_cover = own_counts(self.mechanism.type), words_of(self.mechanism.type).no_cover
        for n, rounds in (first, *self.also):
            honest_users(n, self.colluding, self.dropout, flag(counts.get("n", "n")))
            validation.rounds(rounds, flag(counts.get("rounds", "rounds")))
        if no_cover and (self.colluding, self.dropout) != (0, 0.0):
            raise ValueError(f"--colluding and --dropout must be left out: {no_cover}")
        if self.cohort is not None:
            self._check_cohort(self.cohort, [self.n, *(n for n, _ in self.also)])
        if self.eps0 is not None:
            self.require_open_eps0("--eps0 must be left out")

    def _check_cohort(self, cohort: int, counts: Sequence[int | None]) -> None:
        """Raise ValueError for a cohort larger than n, and for options that it excludes."""
        for name, reason in {
            "rate": "a cohort has a fixed number of users",
            "colluding": "how many of them are drawn is random (docs/proofs/cohorts.md)",
            "dropout": "all who are drawn report; n counts those who would",
        }.items():
            if getattr(self, name) != getattr(type(self), name):
                raise ValueError(f"{flag(name)} must be left out with --cohort: {reason}")
        for n in counts:
            if n is not None and n < cohort:
                raise ValueError(f"--cohort must be at most n, which is {n}, got {cohort}")

    @property
    def sends_reports(self) -> bool:
        """Whether users send reports of a mechanism to a shuffler, not messages of a protocol."""
        return not isinstance(self.mechanism, ProtocolDescription)

    @property
    def fixes_users(self) -> bool:
        """Whether what is sent fixes the number of users."""
        return "n" in self.sent.gives

    @property
    def is_about_any(self) -> bool:
        """Whether nothing but ε₀ is known of the mechanism."""
        return isinstance(self.sample, AnyMechanism)

    @property
    def has_local_privacy(self) -> bool:
        """Whether what a user sends has an ε₀, or noise, that remains without the shuffler."""
        return self.sends_reports or self.sample.eps0 is not None

    @property
    def words(self) -> Words:
        """How answers call what is counted."""
        return self.sample.seen.words

    @property
    def relation_text(self) -> str:
        """How neighbouring datasets differ, in a few words."""
        return self.sample.relation.short_of(self.words.person)

    def label(self, bound: str) -> str:
        """Return the label of the bound by that name."""
        if bound == "blanket" and not self.has_blanket:
            return BOUNDS["stronger_clone"].label
        return self.sample.seen.labels.get(bound) or BOUNDS[bound].label

    @cached_property
    def has_blanket(self) -> bool:
        """Whether the blanket is one; if not, the stronger clone stands in its place.

        The pairs of inputs of large matrices, and of several of them together, are too many.
        """
        if not self.sends_reports:
            return not self.is_about_any
        [shuffle] = self.sample.shuffles(self.some_users)
        return STRONGER_CLONE not in shuffle.source.blankets

    @property
    def some_users(self) -> int:
        """A number of users for what does not depend on it, or that which what is sent fixes."""
        if self.fixes_users and self.n is not None:
            return self.n
        return max(SOME_USERS, self.sample.fewest_users)

    @cached_property
    def sent(self) -> ReportDescription | ProtocolDescription:
        """What a user sends in a round."""
        if isinstance(self.mechanism, ProtocolDescription):
            return self.mechanism
        if self.cohort is not None:
            return CohortReports(CohortDescription(self.mechanism, self.cohort), self.k_joint)
        sampled = CompositionOf("subsample", (Part(self.mechanism, weight=self.rate),))
        return ReportDescription(self.mechanism if self.rate == 1.0 else sampled, self.k_joint)

    @property
    def has_own_eps0(self) -> bool:
        """Whether what is sent fixes ε₀, or has none."""
        return "eps0" not in self.sent.needs

    def require_open_eps0(self, mistake: str) -> None:
        """Raise ValueError if no ε₀ can be chosen; the `mistake` stands before the reason."""
        if not self.has_own_eps0:
            return
        options = parameters(self.mechanism.type)
        given = dict(getattr(self.mechanism, "parameters", ()))
        settings = () if self.sends_reports else self.sent.needs
        named = settings or [x for x in options if x in given or not self.sends_reports]
        setters = "--group" if self.fixes_users else ", ".join(map(flag, named)) or "its parts"
        verb = "sets" if len(named) == 1 or self.fixes_users else "set"
        raise ValueError(f"{mistake}: {setters} {verb} the noise of {self.mechanism.type}")

    @cached_property
    def round_protocol(self) -> Subject:
        """The protocol of everything a user sends in a round, at its ε₀."""
        if missing := self.sought:
            if missing[0] == "eps0":
                raise ValueError(f"Missing option '--eps0', which {self.name} needs.")
            raise ValueError(missing_option(self.mechanism.type, missing[0]))
        setting = Setting(
            eps0=self.eps0, messages=self.messages, noise_multiplier=self.noise_multiplier
        )
        # If the number of rounds is sought, the share of δ of a round is not known.
        if self.rounds is not None:
            setting = setting.at(delta=self.delta, rounds=self.times)
        return self.sent.protocol(setting)

    @cached_property
    def protocol(self) -> Subject:
        """The protocol of rounds that have the same number of users, or of all rounds."""
        if not self.also:
            return self.round_protocol
        return Schedule([Phase(self.round_protocol, *rounds) for rounds in self.every_round])

    @cached_property
    def sample(self) -> Subject:
        """The protocol of a round, at `SOME_EPS0` or `SOME_NOISE` if these are sought."""
        samples: dict[str, Any] = {"eps0": SOME_EPS0, "noise_multiplier": SOME_NOISE}
        settings = {name: samples[name] for name in self.sought if name in samples}
        return (replace(self, **settings) if settings else self).round_protocol

    @property
    def sought(self) -> list[str]:
        """The names of settings that what is sent needs, and that are not given.

        The number of users is none of them: no cohort is larger than it, which is checked later.
        """
        needs = [name for name in self.sent.needs if name != "n"]
        return [name for name in needs if getattr(self, name) is None]

    @cached_property
    def some_shuffles(self) -> Sequence[Shuffle]:
        """The shuffles of a round of the `sample`, for `SOME_USERS` if n is sought."""
        return self.sample.shuffles(self.honest if self.n else self.some_users)

    @property
    def is_attained(self) -> bool:
        """Whether both ends of the upper bound are about one pair of datasets."""
        is_given = all(shuffle.is_given for shuffle in self.some_shuffles)
        return is_given and self.sample.seen.upper == "best"

    @property
    def randomizer(self) -> Randomizer:
        """The randomizer of everything a user reports, at its ε₀."""
        assert isinstance(self.round_protocol, Reports | Cohort)
        return self.round_protocol.randomizer

    @property
    def has_eps0(self) -> bool:
        """Whether ε₀ is finite and positive, so that local privacy is left without the shuffler."""
        return self.sample.eps0 is not None and 0.0 < self.sample.eps0 < math.inf

    @property
    def gaussian_noise(self) -> float | None:
        """The `gaussian_noise` of everything a user sends in a round; None if it has an ε₀."""
        protocol = self.sample
        if self.has_eps0 or not isinstance(protocol, Reports | Cohort):
            return None
        return gaussian_noise(protocol.randomizer)

    @property
    def honest(self) -> int:
        """The users who provide cover for each other; the n of every bound."""
        assert self.n is not None
        return honest_users(self.n, self.colluding, self.dropout)

    @property
    def every_round(self) -> tuple[Rounds, ...]:
        """Honest users and rounds, for a question that fixes both."""
        assert self.rounds is not None
        more = ((honest_users(n, self.colluding, self.dropout), times) for n, times in self.also)
        return ((self.honest, self.rounds), *more)

    @property
    def times(self) -> int:
        """The number of all rounds, for a question that does not ask for it."""
        assert self.rounds is not None
        return self.rounds + sum(rounds for _, rounds in self.also)

    @property
    def pure_eps(self) -> float:
        """An ε at which δ is 0 over all rounds; inf if there is none."""
        return self.protocol.pure_eps(1 if self.also else self.times)

    @property
    def has_one_round(self) -> bool:
        """Whether there is a single round; False if the number of rounds is sought."""
        return self.rounds is not None and self.times == 1

    def setting(self, **target: Any) -> Setting:
        """Return the setting of bounds of the `protocol`, with the target."""
        rounds = 1 if self.also else self.rounds
        return Setting(n=self.honest, eps0=self.eps0, rounds=rounds, **target)

    def bounds(self, names: Iterable[str], quantity: str = "epsilon") -> dict[str, Bound]:
        """Return the bounds among these names that say something of a quantity of what is sent."""
        bounds = (BOUNDS[name] for name in names)
        return {
            bound.name: bound
            for bound in bounds
            if quantity in bound.quantities
            and (bound.knows_mechanism or self.has_eps0)
            # Where it stands in the blanket's place, it needs no second row.
            and (bound.name != "stronger_clone" or self.has_blanket)
            and (self.is_single_shuffle or bound.is_of_shuffles)
            and (bound.kind is not Kind.LOWER or self._knows_datasets(quantity))
            and (self.sends_reports or self._says_something(bound))
        }

    def _knows_datasets(self, quantity: str = "epsilon") -> bool:
        """Return whether pairs of datasets are known, which lower bounds of a quantity need."""
        if not all(map(has_datasets, shuffles := self.some_shuffles)):
            return False
        if quantity == "renyi" and not self.sends_reports:
            # Different shuffles may have their largest Rényi divergence in different directions.
            return len(shuffles) == 1 and bool(shuffles[0].dataset_pairs)
        return True

    @property
    def is_single_shuffle(self) -> bool:
        """Whether a round is one shuffle of n reports, as closed forms assume."""
        return self.sends_reports and not self.also and self.cohort is None

    def _says_something(self, bound: Bound) -> bool:
        """Return whether a bound says something of messages that another one does not."""
        is_best_only = self.sample.seen.upper == "best"
        if is_best_only and bound.name not in ("best", "lower"):
            return False  # It says no more, if it says anything.
        shuffles = self.some_shuffles
        if bound.kind is Kind.LOWER:
            return True
        if bound.name == "best":  # the blanket, unless there are crowds
            is_known = (x.source.crowds or x.source.has_own_interval for x in shuffles)
            return is_best_only or all(is_known)
        # ε₀ is that of all parts together.
        is_of_one_mechanism = len(shuffles) == 1 and shuffles[0].source.is_of_one_mechanism
        return bound.kind is Kind.UPPER and (bound.knows_mechanism or is_of_one_mechanism)

    def facts(self, **target: Any) -> dict[str, Any]:
        """Return the first keys of an answer in JSON; an infinite ε₀ is null."""
        facts: dict[str, Any] = {"version": __version__}
        if isinstance(self.mechanism, ProtocolDescription):
            kind = "mechanism" if self.is_about_any else "protocol"
            facts |= {kind: self.mechanism.type, "parameters": self._parameters}
        else:
            facts |= {"mechanism": self.mechanism.type, "parameters": self._parameters}
            facts |= {"k_joint": self.k_joint, "rate": self.rate}
            facts |= {} if self.cohort is None else {"cohort": self.cohort}
        if self.eps0 is not None:
            facts["eps0"] = self.eps0
        elif self.sends_reports and self.has_own_eps0:
            eps0 = self.sample.eps0
            facts["eps0"] = None if eps0 == math.inf else eps0
        facts |= {
            "seen": self.sample.seen.name,
            "covered": self.sample.covered or f"all {self.words.person}s",
        }
        facts["relation"] = self.sample.relation
        facts |= self._count_facts(target)
        facts |= {"rounds": self.rounds} if self.rounds else {}
        return facts | ({"also": [list(rounds) for rounds in self.also]} if self.also else {})

    def _count_facts(self, target: Mapping[str, Any]) -> dict[str, Any]:
        """Return the number of users, who of them provides no cover, and the target, in JSON."""
        count = {} if self.n is None else {"n": self.n}
        if self.words.no_cover:
            return {**count, **target}
        unreliable: dict[str, Any] = {"colluding": self.colluding}
        unreliable |= {"dropout": self.dropout} if self.dropout else {}
        if self.n is None:
            return {**target, **unreliable}
        return {**count, **unreliable, "n_honest": self.honest, **target}

    @property
    def _parameters(self) -> dict[str, Any]:
        """The parameters that are options."""
        if isinstance(self.mechanism, CompositionOf):
            return {key: value for key, value in self.mechanism.plain().items() if key != "type"}
        options = parameters(self.mechanism.type)
        settings = {"messages": self.messages, "noise_multiplier": self.noise_multiplier}
        given = {**settings, **self.mechanism.plain()}
        return {
            name: value for name, value in given.items() if name in options and value is not None
        }

    @property
    def name(self) -> str:
        """What a user sends, such as ``2 x KRR(k=10, eps0=4.0) at rate 0.1``."""
        if isinstance(self.mechanism, ProtocolDescription):
            shown = self._parameters | ({} if self.eps0 is None else {"eps0": self.eps0})
            listed = ", ".join(f"{name} = {value}" for name, value in shown.items())
            label = self.mechanism.title
            return f"{label} ({listed})" if listed and not self.fixes_users else label
        several = "" if self.k_joint == 1 else f"{self.k_joint} x "
        rate = "" if self.rate == 1.0 else f" at rate {self.rate!r}"
        cohort = "" if self.cohort is None else f" by cohorts of {self.cohort}"
        return f"{several}{self._report_name}{rate}{cohort}"

    @property
    def _report_name(self) -> str:
        """One report, with its own ε₀."""
        mechanism = self.mechanism
        assert not isinstance(mechanism, ProtocolDescription)
        if self.has_own_eps0:
            each = "" if self.k_joint == 1 else " each"
            fixed = mechanism.randomizer(None)
            return f"{fixed.label} ({shown_eps0(fixed.eps0)}{each})"
        eps0 = None if self.eps0 is None else validation.eps0(self.eps0) / self.k_joint
        if isinstance(mechanism, CompositionOf):
            return str(mechanism) if eps0 is None else f"{mechanism} at eps0 = {eps0!r}"
        shown = self._parameters | ({} if eps0 is None else {"eps0": eps0})
        listed = ", ".join(f"{name}={value}" for name, value in shown.items())
        type_ = registry.mechanism(mechanism.type).__name__
        return f"{type_}({listed})" if listed else type_

    def title(self, *target: str) -> str:
        """Return the first line of an answer: what is sent, users, rounds, relation and target."""
        parts = [self.name, self.users_text, self.rounds_text, self.relation_text, *target]
        return ", ".join(filter(None, parts))

    @property
    def users_text(self) -> str:
        """The number of users, and who of them provides no cover; empty if it is sought."""
        if self.n is None:
            return ""
        if self.words.no_cover:
            return counted(self.n, self.words.unit)
        fewer = [f"{100 * self.dropout:.15g} % of them drop out"] if self.dropout else []
        fewer += [f"{self.colluding} of them colluding"] if self.colluding else []
        unreliable = f" ({', '.join(fewer)})" if fewer else ""
        return f"n = {counted(self.n, 'user')}{unreliable}"

    @property
    def rounds_text(self) -> str:
        """The numbers of rounds; empty for a single round, or if it is sought."""
        unit, period = self.words.unit, self.words.period
        rounds = [counted(self.rounds, period)] if self.rounds and self.times > 1 else []
        rounds += [f"and {counted(times, period)} of {counted(n, unit)}" for n, times in self.also]
        return ", ".join(rounds)


def missing_option(owner: str, parameter: str) -> str:
    """Return the sentence on a parameter of a mechanism or a protocol that is missing."""
    return f"Missing option '{flag(parameter)}' of {owner}: {parameters(owner)[parameter].help}."


def shown_eps0(eps0: float | None) -> str:
    """Return ε₀ rounded up, or ``no eps0``."""
    return "no eps0" if eps0 is None else f"eps0 = {outward(eps0, up=True)}"
