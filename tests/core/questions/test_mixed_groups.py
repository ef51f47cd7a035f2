"""Deployments whose groups share a shuffler."""

import pytest

import shufflebounds as sb
from shufflebounds.subjects.groups import PossibleSizes, Shares

KRR = {"type": "krr", "k": 10}


def deployment(mechanism=KRR, **more):
    report = {"mechanism": mechanism, "eps0": 2.0, "answers": "fresh"}
    groups = {"old": {"share": "0.5", "eps0": {"browser": 0.5}}, "new": {"share": "0.5"}}
    return sb.Deployment(
        {"users": 4000, "days": 1, "reports": {"browser": report}, "groups": groups, **more}
    )


def test_groups_that_share_a_shuffler_hide_each_other():
    mixed = deployment(mixed=True).epsilon_of_groups(1e-6)
    apart = deployment().epsilon_of_groups(1e-6)
    groups = sb.Groups([(2000, sb.KRR(10, 0.5)), (2000, sb.KRR(10, 2.0))])
    for name, members in zip(("old", "new"), groups.members(), strict=True):
        assert mixed[name].upper < 0.9 * apart[name].upper
        one = sb.epsilon(members, n=4000, delta=1e-6)
        # Losses of rounds add a per cent at most.
        assert one.lower <= mixed[name].upper <= 1.01 * one.upper
        assert mixed[name].lower <= one.upper


def test_users_who_drop_out_may_be_of_any_group():
    full, fewer = (
        deployment(mixed=True, **x).epsilon_of_groups(1e-6) for x in ({}, {"dropout": 0.05})
    )
    for name, of_all in full.items():
        assert fewer[name].upper > of_all.upper
        assert fewer[name].lower <= fewer[name].upper


def test_sizes_do_not_fall_with_the_number_of_users():
    fractions = deployment(mixed=True, dropout="0.07").description
    shares = Shares(tuple(x.share for x in fractions.groups), fractions.dropout, 3)
    sizes = [shares(n, 0) for n in range(100, 1000)]
    assert sizes == sorted(sizes)
    for n, (first, _) in zip(range(100, 1000), sizes, strict=True):
        assert first <= fractions.honest(fractions.groups[0], n)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"mixed": "yes"}, "mixed must be true or false, got 'yes'"),
        ({"mixed": True, "mechanism": {"type": "local_hash"}}, r"reports\.browser: groups must"),
        ({"mixed": True, "mechanism": {"type": "oue"}}, r"reports\.browser: groups must"),
    ],
)
def test_mistakes_in_one_sentence(more, message):
    with pytest.raises(ValueError, match=message) as error:
        deployment(**more).epsilon(1e-6)
    assert "\n" not in str(error.value)


def test_lower_ends_are_those_of_a_day_of_n_users():
    """Every user is in one of the groups, each of which has at least its share."""
    n, share = 500, "0.3"
    groups = {"old": {"share": share, "eps0": {"browser": 1.0}}, "new": {"share": share}}
    mechanism = {"type": "krr", "k": 2}
    found = deployment(mechanism, users=n, groups=groups, mixed=True).epsilon_of_groups(1e-4)
    fewest = int(n * float(share))
    laws = sb.KRR(2, 1.0), sb.KRR(2, 2.0)
    days = [
        sb.Groups([(first, laws[0]), (n - first, laws[1])]).members()
        for first in {fewest, n - fewest}
    ]
    for place, name in enumerate(("old", "new")):
        largest = max(sb.epsilon(day[place], n, 1e-4).upper for day in days)
        assert found[name].lower <= largest


def test_sizes_of_a_pair_of_datasets_are_possible():
    """All n users are there but those who drop out or collude, who are of one group."""
    description = deployment(mixed=True, dropout="0.07").description
    shares = tuple(x.share for x in description.groups)
    sizes = PossibleSizes(Shares(shares, description.dropout, 3), spare=1)
    for n in range(100, 1000):
        fewest = [int(n * share) for share in shares]
        honest = sizes(n, 0)
        assert sum(honest) >= n - int(n * description.dropout) - 3
        assert sum(honest) <= n
        assert all(x >= y for x, y in zip(honest[1:], fewest[1:], strict=True))
