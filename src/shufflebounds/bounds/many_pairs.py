"""The largest divergence of many pairs, most of which need no precise answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from shufflebounds.accounting.worst_case import Divergence, Question, worth_asking, worth_trying
from shufflebounds.bounds.base import Answer, Asked, Kind, Numerics, attempt, largest
from shufflebounds.protocols.base import Candidate


def largest_of_many(
    kind: Kind, pairs: Sequence[Candidate], quantity: str, asked: Asked, numerics: Numerics
) -> Answer:
    """The largest of all pairs or, of lower bounds, the largest that was found (`worst_case`)."""
    question = Divergence(quantity, asked.draws, asked.at, numerics.rtol)
    return largest_answer(kind, pairs, question)


def largest_answer(kind: Kind, pairs: Sequence[Candidate], question: Question) -> Answer:
    """The same of any question."""
    worth = worth_trying if kind is Kind.LOWER else worth_asking
    answers: list[Answer] = []
    decompositions = [pair.decomposition for pair in pairs]
    for i in worth(decompositions, question, lambda: largest(answers).enclosure):
        answers.append(attempt(partial(question.answer, decompositions[i])).of(pairs[i]))
    return largest(answers)
