"""The command that says what a privacy loss means: how well an attack can do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from shufflebounds.accounting.composition import round_of
from shufflebounds.accounting.profile import Profile, profile
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import (
    FEW,
    OF_PAIRS,
    End,
    answering,
    kind_of,
    one_by_one,
    or_value_error,
    other,
    pairs,
    progress,
    publish,
    wrapped,
)
from shufflebounds.cli.deployment import Deployment
from shufflebounds.cli.options import FIGURE, REAL, Output, option, question
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.randomizers.base import Randomizer

_CAPTION = (
    "Attack success. A stronger attack has a larger advantage but fewer false negatives: in those "
    "rows the upper bound on what an attack can do is the smaller number."
)
_RATES = (0.001, 0.01, 0.1)
_MEANINGS = {
    "tight": "no attack does better; you can claim it.",
    "upper": "no attack does better; you can claim it.",
    "lower": "an attack on two datasets does as well; no valid claim can be smaller.",
    "stronger_clone": "the best bound for any mechanism with this eps0.",
}
# Share of the advantage: where the blanket and an attack are as close, nobody waits for more.
_CLOSE = 5e-3
# Points per standard deviation: as a rule, and as many as there may be.
_USUAL, _MOST = 24.0, 1000.0
# The same of the best proven bound, each of which takes a while, and where they end.
# With half as many as usual the advantage of many rounds is a thousandth larger, that of one is the
# same; rates below some 10⁻⁵ are bounded by the blanket.
_DENSITY, _SMALLEST = 12.0, 1e-8
_TEST = (
    "An attack sees all that is shuffled and tells which of two values the victim had, all other "
    "users' values known to it. A false positive takes the first value for the second, a false "
    "negative the second for the first. The advantage is 1 less both rates, of the best attack: 0 "
    "is a guess, 1 certainty."
)
_UNLIKE = (
    "The two datasets of the lower bound are not mirror images of each other. Its false negatives "
    "are those of attacks that may choose which of the two is the first value, or mix both choices."
)


@dataclass(frozen=True)
class _Risk:
    """What one bound says of attacks, by the pairs of datasets that it compares.

    Or what the ``least`` of several bounds does.
    """

    found: Sequence[Profile | _Risk]
    least: bool = False

    def advantage(self) -> Enclosure:
        pick = min if self.least else max
        return self._extreme(pick, [one.advantage() for one in self.found])

    def right_guess(self) -> Enclosure:
        """From even odds."""
        found = self.advantage()
        low, high = 0.5 + 0.5 * found.lower, 0.5 + 0.5 * found.upper
        return Enclosure(math.nextafter(low, 0.0), math.nextafter(high, 2.0))

    def false_negatives(self, rate: float) -> Enclosure:
        pick = max if self.least else min
        return self._extreme(pick, [one.false_negatives(rate) for one in self.found])

    def is_close_to(self, attack: _Risk) -> bool:
        """Whether an attack does nearly as well, so that little lies between."""
        gaps = [self.advantage().upper - attack.advantage().lower]
        for rate in _RATES:
            gaps.append(attack.false_negatives(rate).upper - self.false_negatives(rate).lower)
        return max(gaps) <= _CLOSE * self.advantage().upper

    @staticmethod
    def _extreme(pick: Callable[..., float], found: Sequence[Enclosure]) -> Enclosure:
        return Enclosure(pick(one.lower for one in found), pick(one.upper for one in found))


@question(
    "eps0",
    "users",
    "rounds",
    option(
        "--false-positives",
        REAL,
        "A rate of false positives, 0 to 1; may be repeated.",
        multiple=True,
        default=_RATES,
    ),
    option("--plot", FIGURE, "Figure to draw: PDF, PNG or SVG."),
    "rtol",
    "output",
)
def risk(
    asked: Deployment,
    false_positives: tuple[float, ...],
    plot: Path | None,
    rtol: float | None,
    output: Output,
) -> None:
    """How well can an attack tell two values of a user apart?

    There is no delta to choose: this is the whole trade-off between both error rates. Where more is
    proven than the upper bound, a best proven bound comes first: claim that one. --rtol is the
    largest relative width of the other bounds' advantages, by default about 1e-4, or more over
    several rounds.

    Example: shufflebounds risk --mechanism krr --k 10 --eps0 2 --n 1e5 --rounds 365
    """
    rates = [validation.probability("false_positives", rate) for rate in false_positives]
    bounds = answering(asked, *OF_PAIRS)
    compared = {key: pairs(bound, asked) for key, bound in bounds.items()}
    alike = [pair for pair in compared["lower"] if pair.decomposition.is_symmetric()]
    # Any of them is a lower bound; those that tell the inputs apart best come first.
    compared["lower"] = (tuple(alike) or compared["lower"])[:FEW]
    n, rounds = asked.honest, asked.times
    with progress(hidden=output.as_json):
        risks = {
            key: _Risk([_curve(pair.decomposition, n, rounds, rtol) for pair in compared[key]])
            for key, _ in one_by_one(bounds)
        }
        closer = None
        if not risks["upper"].is_close_to(risks["lower"]):
            closer = _of_all_datasets(asked.protocol.randomizer, n, rounds)
    if closer is not None:
        tight = _Risk([closer, risks["upper"]], least=True)
        risks = {"tight": tight, **risks}
    labels = {key: BOUNDS[key].label for key in risks}
    advantages = {key: one.advantage() for key, one in risks.items()}
    guesses = {key: one.right_guess() for key, one in risks.items()}
    missed = {
        rate: {key: one.false_negatives(rate) for key, one in risks.items()} for rate in rates
    }
    publish(
        output,
        bounds=tuple(risks),
        asked=asked,
        facts=asked.facts()
        | {
            "advantage": _plain(advantages),
            "false_negatives": [
                {"false_positives": rate, **_plain(found)} for rate, found in missed.items()
            ],
        },
        paragraphs=[asked.title(), wrapped(_CAPTION)],
        table=[
            ["", *labels.values()],
            ["advantage", *_cells(output, advantages, harmful="upper")],
            ["right guess, from even odds", *_cells(output, guesses, harmful="upper")],
            *(
                [
                    f"false negatives, at {rate:g} false positives",
                    *_cells(output, found, harmful="lower"),
                ]
                for rate, found in missed.items()
            ),
        ],
        meanings={label: _MEANINGS[key] for key, label in labels.items()},
        notes=[_TEST, *([] if alike else [_UNLIKE]), *asked.notes()],
    )
    if plot is not None:
        or_value_error(plot, lambda: _draw(risks, asked.title(), plot))
    for key in bounds:
        width = advantages[key].relative_width
        if rtol is not None and width > rtol:
            sentence = f"{labels[key]}: the advantage is known only to a relative width of"
            raise PrecisionError(f"{sentence} {width:.1e}", advantages[key])


def _curve(pair: Decomposition, n: int, rounds: int, rtol: float | None) -> Profile:
    """Of a pair; its advantage to a relative width of `rtol` where that can be reached."""
    found, density = profile(pair, n, rounds=rounds, density=_USUAL), _USUAL
    while rtol is not None and found.advantage().relative_width > rtol and density < _MOST:
        # The width falls with the square.
        density = min(2.0 * density, _MOST)
        try:
            found = profile(pair, n, rounds=rounds, density=density)
        except PrecisionError:
            break
    return found


def _of_all_datasets(randomizer: Randomizer, n: int, rounds: int) -> Profile | None:
    """What is proven of a mechanism beyond its blankets; None where that is nothing."""
    if not round_of(randomizer, n, rounds).crowds:
        return None
    return profile(randomizer, n, rounds=rounds, smallest=_SMALLEST, density=_DENSITY)


def _plain(found: Mapping[str, Enclosure]) -> dict[str, dict[str, float]]:
    return {key: asdict(one) for key, one in found.items()}


def _cells(output: Output, found: Mapping[str, Enclosure], *, harmful: End) -> list[str]:
    """Of an upper bound the end that is worse for privacy, of a lower bound the other."""
    ends = {key: harmful if kind_of(key) == "upper" else other(harmful) for key in found}
    return [output.text(getattr(found[key], end), up=end == "upper") for key, end in ends.items()]


def _draw(risks: Mapping[str, _Risk], title: str, path: Path) -> None:
    from shufflebounds.reproduce.plotting import figures, sheets

    lines = [
        sheets.TradeOffLine(BOUNDS[key].label, key, one.false_negatives, other(kind_of(key)))
        for key, one in risks.items()
    ]
    figures.draw(sheets.of_trade_off(lines, title), [path], titled=True)
