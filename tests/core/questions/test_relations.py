"""Neighbouring relations: two of them are never composed or compared, and none gets lost."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.bounds.clones import coarsened_clone
from shufflebounds.core.relation import Relation
from shufflebounds.questions.accountant import from_profile
from shufflebounds.subjects.base import content_key

ALLOCATION = sb.RandomAllocation(noise_multiplier=1.0)
EPOCH = ALLOCATION.decomposition(100, 1e-5, cells=20)
PROFILE = from_profile(
    lambda eps: 0.1 * np.exp(-eps), interval=0.1, smallest=1e-3, relation="add or remove"
)
REPORTS = sb.KRR(2, 1.0)
BLANKET = REPORTS.blanket()
REPLACED = from_profile(lambda eps: 0.1 * np.exp(-eps), interval=0.1, smallest=1e-3)
# What adds or removes an example, and what replaces a user.
ADDED = {"allocation": ALLOCATION, "epoch": EPOCH, "blankets": (EPOCH, EPOCH), "profile": PROFILE}
OTHERS = {
    "randomizer": REPORTS,
    "blanket": BLANKET,
    "blankets": (BLANKET, BLANKET),
    "profile": REPLACED,
}


def refused():
    sentence = (
        r"one neighbouring relation, got '[a-z ]+' and '[a-z ]+': compose the epochs of training "
        r"alone and the reports alone, and state two guarantees, each with its relation$"
    )
    return pytest.raises(ValueError, match=sentence)


@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("other", OTHERS)
def test_rounds_of_two_relations_are_refused(added, other):
    rounds = [(ADDED[added], 100, 1), (OTHERS[other], 1000, 1)]
    for several in (rounds, rounds[::-1], [*rounds, *rounds]):
        with refused():
            sb.compose(several)


@pytest.mark.parametrize("added", ADDED)
def test_a_ledger_is_about_replacement(added):
    for ledger in (sb.ShuffleAccountant(), sb.ShuffleAccountant().compose(REPORTS, 1000)):
        before = ledger.rounds
        with refused():
            ledger.compose(ADDED[added], 100)
        assert ledger.rounds == before


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sb.compose([((EPOCH, BLANKET), 100, 1)]),
        lambda: sb.worst_epsilon({"a": EPOCH, "b": BLANKET}, 100, 1e-5),
        lambda: sb.worst_delta({"a": BLANKET, "b": EPOCH}, 1.0, 100),
        lambda: sb.best_lower_epsilon({"a": EPOCH, "b": BLANKET}, 100, 1e-5),
        lambda: sb.best_lower_delta({"a": EPOCH, "b": BLANKET}, 1.0, 100),
        lambda: EPOCH.joint(BLANKET),
        lambda: BLANKET.joint(EPOCH),
        lambda: sb.parallel([(0.5, EPOCH), (0.5, BLANKET)]),
    ],
)
def test_other_answers_about_two_relations_are_refused(ask):
    with refused():
        ask()


def test_a_deployment_of_reports_refuses_training():
    mechanism = {"type": "random_allocation", "noise_multiplier": 1.0}
    reports = {"training": {"mechanism": mechanism, "answers": "fresh"}}
    with pytest.raises(ValueError, match="is training, which is not composed with reports"):
        sb.Deployment({"users": 1000, "days": 2, "reports": reports})


def test_phases_that_keep_their_bins_share_a_draw():
    # One epoch with the noise of ten has ε = 12.5; two phases of five were said to have 6.4.
    kept = sb.RandomAllocation(1.0, bins="kept")
    for phases in ([(kept, 1000, 5)] * 2, [(kept, 100, 1), (ALLOCATION, 100, 1), (kept, 100, 2)]):
        with pytest.raises(ValueError, match="bins must not be kept in more than one phase"):
            sb.compose(phases)
    assert sb.compose([(kept, 100, 1), (ALLOCATION, 100, 1)]).epsilon(1e-3).upper < 10.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sb.renyi(ALLOCATION, 100, 2.0),
        lambda: sb.Joint([REPORTS, ALLOCATION]),
        lambda: sb.Parallel([(0.5, REPORTS), (0.5, ALLOCATION)]),
        lambda: sb.Subsampled(ALLOCATION, 0.5),
    ],
)
def test_what_is_about_replacement_alone_takes_no_epochs(ask):
    with pytest.raises(ValueError, match=r"andom ?[aA]llocation"):
        ask()


def test_an_accountant_of_events_takes_no_epochs():
    pytest.importorskip("dp_accounting")
    from dp_accounting import NeighboringRelation

    from shufflebounds.questions.dp_events import Accountant, ShuffleEvent

    with pytest.raises(ValueError, match="randomizer must be a Randomizer, got RandomAllocation"):
        ShuffleEvent(ALLOCATION, 100)
    assert Accountant().neighboring_relation is NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize("part", [EPOCH, BLANKET, PROFILE])
def test_what_is_made_of_a_decomposition_keeps_its_relation(part):
    made = [
        part.swap(),
        part.merge(),
        part.same_input(),
        part.joint(part),
        sb.parallel([(0.5, part), (0.5, part.swap())]),
        sb.subsample(part, 0.5),
        replace(part, rel_err=1e-6, tied=None),
        coarsened_clone(part, 1.0),
        copy.deepcopy(part),
        pickle.loads(pickle.dumps(part)),
        *part.bounds(),
        *(end for ends in part.directions for end in ends),
    ]
    ends = [end for x in made for end in x.bounds()]
    assert {x.relation for x in [*made, *ends]} == {part.relation}


def test_subjects_name_their_relation():
    for part in (ALLOCATION, EPOCH, PROFILE):
        assert sb.compose([(part, 100, 2)]).relation is Relation.ADD_OR_REMOVE
    for part in (REPORTS, BLANKET, REPLACED, sb.stronger_clone(1.0)):
        assert sb.compose([(part, 100, 2)]).relation is Relation.REPLACE
    # Equal masses that are about different datasets are different rounds.
    same = replace(BLANKET, relation="add or remove")
    assert content_key(same) != content_key(BLANKET)


@pytest.mark.parametrize("relation", ["zero out", "", None, 1])
def test_unknown_relations_are_named(relation):
    sentence = f"relation must be 'replace', 'add or remove' or 'zero-out', got {relation!r}"
    for make in (
        lambda: sb.Decomposition([1.0], [1.0], [1.0], relation=relation),
        lambda: from_profile(lambda eps: 0.0 * eps, relation=relation),
    ):
        with pytest.raises(ValueError, match=sentence):
            make()


def test_ends_have_the_relation_of_their_decomposition():
    with pytest.raises(ValueError, match="inner must have the relation 'add or remove'"):
        replace(BLANKET, inner=BLANKET, relation="add or remove")
