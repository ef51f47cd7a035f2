"""Wang, Zeng, Li, Huang and Chen, "Numerical Composition for Federated Learning".

Applied Sciences 15(3):1595, 2025, whose title begins "Shuffle Model of Differential Privacy": its
claims. Its figures are in config/wang2025.yaml, and what they draw is in the library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shufflebounds.papers.base import Research

if TYPE_CHECKING:
    from shufflebounds.papers.claims import Claim


def _claims() -> tuple[Claim, ...]:
    from shufflebounds.papers.wang2025 import claims

    return claims.CLAIMS


def _introduction() -> str:
    from shufflebounds.papers.wang2025 import claims

    return claims.INTRODUCTION


RESEARCH = Research(
    claims=("theorem1_saves", "theorem1_holds", "blanket_saves", "renyi_far", "trees_save"),
    load_claims=_claims,
    claim_modules=(f"{__name__}.claims",),
    introduction=_introduction,
)
