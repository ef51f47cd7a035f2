"""No answer about a mechanism is worse than the answer about a simple bound for it.

The simple bound of a randomizer is the stronger clone of its ε₀, which holds for all datasets
(docs/variation-ratio.md, section 5) and takes milliseconds. It has no loss above ε₀, so that pure
privacy of T rounds, Tε₀, is part of what it says. Every public question about a mechanism is also
asked of its simple bound, outside the work budget, and the better end counts.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError
from shufflebounds.core.work import RESERVE, budget

P = ParamSpec("P")
T = TypeVar("T")
Ends = Enclosure | Enclosures


def no_worse_than_simple_bound(
    simple_ask: Callable[..., Any] | None = None, *, claims_lower_end: bool = False
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator of questions: the answer is no worse than that about the simple bound.

    The first argument of the question is a `Decomposition`, which is asked about as it is, or has a
    method ``simple_bound``. The answer is an enclosure, or has a method ``capped``, which takes the
    answer about the simple bound.

    Parameters
    ----------
    simple_ask
        The same question about decompositions, if the question itself does not take them.
    claims_lower_end
        Whether the lower end is what can be claimed, as for a number of rounds.
    """

    def decorate(ask: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(ask)
        first = next(iter(signature.parameters))

        @wraps(ask)
        def ask_both(*args: P.args, **kwargs: P.kwargs) -> T:
            call = signature.bind(*args, **kwargs)
            subject = call.arguments[first]
            is_mechanism = hasattr(subject, "simple_bound") and not isinstance(subject, type)
            simple = subject.simple_bound() if is_mechanism else None
            if simple is None:
                return ask(*args, **kwargs)
            call.arguments[first] = simple
            question: Callable[..., Any] = simple_ask or ask
            with budget(RESERVE):
                bound = _answer_or_enclosure(lambda: question(*call.args, **call.kwargs))
            try:
                answer: Any = ask(*args, **kwargs)
            except PrecisionError as error:
                return _answer_despite(error, bound, claims_lower_end, call.arguments.get("rtol"))
            return _better(answer, bound, claims_lower_end)

        return ask_both

    return decorate


def _answer_or_enclosure(ask: Callable[[], Any]) -> Any:
    """Return the answer, or the enclosure of a `PrecisionError`, even if the work is spent."""
    try:
        return ask()
    except PrecisionError as error:
        return error.enclosure


def _answer_despite(
    error: PrecisionError, bound: Any, claims_lower_end: bool, rtol: float | None
) -> Any:
    """Return the answer if the simple bound makes it narrow enough; else raise both together."""
    if not isinstance(bound, Ends):
        return bound.upper_only()
    ends = _better(error.enclosure, bound, claims_lower_end)
    if np.all(ends.relative_width <= (rtol or 0.0)):
        return ends
    if isinstance(ends, Enclosures):
        raise PrecisionError(str(error), ends) from None
    before, after = (f"[{x.lower!r}, {x.upper!r}]" for x in (error.enclosure, ends))
    sentence = str(error).replace(before, after)
    if after not in sentence:
        sentence = f"the answer is known only to lie in {after}: {sentence}"
    raise PrecisionError(sentence, ends) from None


def _better(answer: Any, bound: Any, claims_lower_end: bool) -> Any:
    """Return the answer with the better of two ends that can be claimed."""
    if isinstance(bound, Enclosure) and math.isinf(bound.upper) and not claims_lower_end:
        return answer
    if not isinstance(answer, Ends):
        return answer.capped(bound)
    if isinstance(answer, Enclosures) or isinstance(bound, Enclosures):
        upper = np.minimum(answer.upper, bound.upper)
        return Enclosures(np.minimum(answer.lower, upper), upper)
    if claims_lower_end:
        lower = max(answer.lower, bound.lower)
        return Enclosure(lower, max(answer.upper, lower))
    upper = min(answer.upper, bound.upper)
    return Enclosure(min(answer.lower, upper), upper)
