"""What a question is about: who sends what, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shufflebounds._version import __version__
from shufflebounds.cli.crowd import Users, crowd_notes
from shufflebounds.cli.report import Report


@dataclass(frozen=True)
class Deployment:
    """Users who send a report each, in so many rounds.

    ``eps0`` is that of all that a user sends, None where the mechanism fixes it or it is what is
    asked for. Where the number of users is, ``users`` is None and ``colluding`` tells how many of
    them hide nobody; ``rounds`` is None where the rounds are.
    """

    report: Report
    eps0: float | None = None
    users: Users | None = None
    rounds: int | None = 1
    colluding: int = 0

    def facts(self, **asked: Any) -> dict[str, Any]:
        """What answers in JSON begin with."""
        report, users = self.report, self.users
        is_known = self.eps0 is not None or report.has_own_eps0
        return {
            "version": __version__,
            **report.facts(),
            **({"eps0": report.told_eps0(self.eps0)} if is_known else {}),
            **(users.facts() if users else {}),
            **asked,
            **({"rounds": self.rounds} if self.rounds else {}),
        }

    def title(self, *asked: str) -> str:
        """What answers to people begin with."""
        several = [f"{self.rounds} rounds"] if self.rounds and self.rounds > 1 else []
        users = [str(self.users)] if self.users else []
        return ", ".join([self.report.name(self.eps0), *users, *several, *asked])

    def notes(self) -> list[str]:
        """What the answers rest on, a sentence or a few each."""
        colluding = self.users.colluding if self.users else self.colluding
        return self.report.notes() + crowd_notes(colluding) + round_notes(self.rounds)


def round_notes(rounds: int | None) -> list[str]:
    """What bounds of several rounds rest on; None stands for any number of them."""
    if rounds == 1:
        return []
    which = "Rounds" if rounds is None else f"The {rounds} rounds"
    return [
        f"{which} are shuffled separately, with fresh randomness. The upper bound "
        "holds for all that is published together, whatever the others report, and however the "
        "values are chosen from round to round; in each round a user spends eps0. The lower bound "
        "is that of the same two datasets in every round. Reports that are sent together, linked "
        "to each other, are not rounds: for them there is --k-joint."
    ]
