"""Girgis et al., "On the Rényi Differential Privacy of the Shuffle Model", CCS 2021: its claims.

Everything else of the paper is in the library and in config/girgis2021.yaml.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shufflebounds.papers.base import Research

if TYPE_CHECKING:
    from shufflebounds.papers.claims import Claim


def _claims() -> tuple[Claim, ...]:
    from shufflebounds.papers.girgis2021 import claims

    return claims.CLAIMS


def _introduction() -> str:
    from shufflebounds.papers.girgis2021 import claims

    return claims.INTRODUCTION


RESEARCH = Research(
    claims=(
        "first_below_second",
        "gap",
        "structure",
        "below_advanced",
        "eightfold",
        "accounting",
    ),
    load_claims=_claims,
    claim_modules=(f"{__name__}.claims", f"{__name__}.measures"),
    introduction=_introduction,
)
