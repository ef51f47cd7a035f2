"""The errors of estimates as bounds of the protocol `Calibrated`: docs/proofs/errors.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shufflebounds.bounds.base import SPECIAL_ERR, Answer, Bound, Kind, Numerics
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import Calibrated
from shufflebounds.questions.mechanism_families import Task
from shufflebounds.questions.ranking import calibrated
from shufflebounds.subjects.base import Subject


def _error_bound(
    name: str, label: str, source: str, mse: Callable[[Calibrated], Enclosure]
) -> Bound:
    """Return the bound whose answer is the mean squared error of a calibrated protocol."""

    def compute(
        subject: Subject, quantity: str, settings: Sequence[Setting], _: Numerics
    ) -> list[Answer]:
        if not isinstance(subject, Calibrated):
            raise ValueError(f"the bound {name} needs the protocol calibrated")
        return [Answer(mse(subject))] * len(settings)

    return Bound(name, Kind.UPPER, label, source, ("mse",), compute)


def _curator_mse(protocol: Calibrated) -> Enclosure:
    """Return the error of a trusted curator for the same task."""
    mse = Task.of(protocol).curator_mse
    return Enclosure(mse * (1.0 - SPECIAL_ERR), mse * (1.0 + SPECIAL_ERR))


ESTIMATE_ERROR = _error_bound(
    "estimate_error",
    "error of the estimate",
    "docs/proofs/errors.md: supports of values, at an eps0 that meets the target",
    lambda protocol: calibrated(protocol).mse,
)
CURATOR_ERROR = _error_bound(
    "curator_error",
    "error of a trusted curator",
    "docs/proofs/errors.md: geometric (for a mean: Laplace) or Gaussian noise, whichever is better",
    _curator_mse,
)
