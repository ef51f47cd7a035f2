"""How many users there are, and how many of them hide nobody."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shufflebounds import validation
from shufflebounds.bounds.base import Answer
from shufflebounds.enclosure import Enclosure


@dataclass(frozen=True)
class Users:
    """``n`` users, so many of whom collude, drop out or break the protocol.

    Raises ValueError where the victim would not be one of those who are left.
    """

    n: int
    colluding: int = 0

    def __post_init__(self) -> None:
        validation.users(self.n)
        if validation.whole("colluding", self.colluding, minimum=0) >= self.n:
            raise ValueError(
                f"colluding must be an integer below n = {self.n}, got {self.colluding}"
            )

    @property
    def honest(self) -> int:
        """Those who hide each other; the n of every bound."""
        return self.n - self.colluding

    def facts(self) -> dict[str, int]:
        """What answers in JSON say of them."""
        return {"n": self.n, "colluding": self.colluding, "n_honest": self.honest}

    def __str__(self) -> str:
        some = f" ({self.colluding} of them colluding)" if self.colluding else ""
        return f"n = {self.n} {'user' if self.n == 1 else 'users'}{some}"


def with_colluding(answer: Answer, colluding: int) -> Answer:
    """A number of users who hide each other, and so many more; ValueError for a negative one."""
    validation.whole("colluding", colluding, minimum=0)
    found = answer.enclosure
    return replace(answer, enclosure=Enclosure(found.lower + colluding, found.upper + colluding))


def crowd_notes(colluding: int) -> list[str]:
    """What bounds of fewer users rest on."""
    if not colluding:
        return []
    who = "users work with the observer, drop out or break the protocol. What they send hides"
    if colluding == 1:
        who = "user works with the observer, drops out or breaks the protocol. What it sends hides"
    return [
        f"{colluding} {who} nobody, and the answers are those of the others alone, whoever they "
        "are."
    ]
