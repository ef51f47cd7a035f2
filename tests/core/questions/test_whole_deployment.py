"""Deployments: what is claimed of them against enumerations, and every mistake in a description."""

import datetime
import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import jsonschema
import numpy as np
import pytest
from repository import ROOT

import shufflebounds as sb
from shufflebounds.profiles.loss_sum import LossSum
from shufflebounds.questions import deployment as module
from shufflebounds.questions import deployment_description as description
from shufflebounds.questions import intervals

EPS0 = 1.0
KEEP = math.exp(EPS0) / (1.0 + math.exp(EPS0))
BINARY = {"mechanism": {"type": "krr", "k": 2}, "eps0": EPS0, "answers": "fresh"}
MEMOIZED = BINARY | {"answers": "memoized"}


def deployed(*reports, days=None, **content):
    """A deployment of reports that are called a, b, …"""
    content["reports"] = dict(zip("abcdef", reports, strict=False))
    is_listed = isinstance(days, list)
    return sb.Deployment(
        content if is_listed else content | {"days": days}, days if is_listed else None
    )


def transcript_law(inputs, publish, keep=KEEP):
    """Masses of what is published of memoized answers: ``publish`` maps them to an outcome."""
    keeps = keep if isinstance(keep, list) else [keep] * len(inputs)
    law = Counter()
    for answers in itertools.product((0, 1), repeat=len(inputs)):
        mass = math.prod(
            k if x == y else 1 - k for x, y, k in zip(inputs, answers, keeps, strict=True)
        )
        law[publish(answers)] += mass
    return law


def fresh_law(inputs_of_days):
    """Masses of the numbers of ones of days with fresh answers."""
    law = {(): 1.0}
    for inputs in inputs_of_days:
        day = transcript_law(inputs, sum)
        law = {(*a, b): p * q for a, p in law.items() for b, q in day.items()}
    return law


def divergence(first, second, eps):
    return sum(max(p - math.exp(eps) * second.get(x, 0.0), 0.0) for x, p in first.items())


def largest_divergence(law_of, sizes, eps):
    """The largest D(ε) over all inputs of all other users on each day, in both orders."""
    others = [list(itertools.product((0, 1), repeat=n - 1)) for n in sizes]
    return max(
        divergence(law_of([(x, *o) for o in held]), law_of([(1 - x, *o) for o in held]), eps)
        for held in itertools.product(*others)
        for x in (0, 1)
    )


@pytest.mark.parametrize("delta", [0.02, 0.1])
def test_days_of_fresh_answers_are_enclosed(delta):
    days = [("2026-01-01", 3), ("2026-01-02", 4)]
    eps = deployed(BINARY, days=days).epsilon(delta)
    sizes = [n for _, n in days]
    assert largest_divergence(fresh_law, sizes, eps.upper) <= delta
    assert largest_divergence(fresh_law, sizes, eps.lower) >= delta * (1 - 1e-9)
    assert 0.0 < eps.lower < eps.upper < 2 * EPS0


def test_all_who_drop_out_may_be_in_one_group():
    """10 of 100 members are away at most, if the members are those of the smallest group."""
    groups = {"old": {"share": 0.1, "eps0": {"a": 2.0}}, "new": {"share": 0.9, "eps0": {"a": 0.5}}}
    deployment = deployed(BINARY, users=1000, days=1, dropout=0.05, groups=groups)
    assert [sent.parts[0].rounds[0].draws for sent in deployment.sent.values()] == [50, 850]
    alone = sb.epsilon(sb.KRR(2, 2.0), 50, 1e-3)
    assert alone.lower <= deployment.epsilon(1e-3).upper
    with pytest.raises(ValueError, match="all of whom may be in one group"):
        deployed(BINARY, users=1000, days=1, dropout=0.1, groups=groups)


def test_dropouts_and_colluders_provide_no_cover():
    days = [("2026-01-01", 11), ("2026-01-02", 12)]
    eps = deployed(BINARY, days=days, dropout=0.3, colluding=4).epsilon(0.05)
    # 11 · 0.7 and 12 · 0.7, rounded down, without the colluding users: 3 and 4 are left.
    assert eps == deployed(BINARY, days=[("2026-01-01", 3), ("2026-01-02", 4)]).epsilon(0.05)


def test_a_share_is_the_decimal_number_that_was_given():
    """0.9 as a float times a million is below 900 000."""
    (sent,) = deployed(BINARY, users=10**6, days=1, dropout=0.1).sent.values()
    [round_] = sent.parts[0].rounds.values()
    assert (round_.draws, round_.most_draws, round_.times) == (900_000, 900_000, 1)
    (sent,) = deployed(BINARY, users=10**15, days=1, dropout=0.3).sent.values()
    assert sent.parts[0].rounds[0].draws == 7 * 10**14


@pytest.mark.parametrize("delta", [0.02, 0.1])
def test_memoized_answers_of_the_same_users_are_one_shuffle(delta):
    """Two days publish the same answers, each day shuffled."""
    users = 4

    def law_of(held):
        return transcript_law(held[0], lambda answers: (sum(answers), sum(answers)))

    eps = deployed(MEMOIZED | {"same_users": True}, users=users, days=50).epsilon(delta)
    assert largest_divergence(law_of, [users], eps.upper) <= delta
    assert largest_divergence(law_of, [users], eps.lower) >= delta * (1 - 1e-9)


@pytest.mark.parametrize("delta", [0.02, 0.1])
def test_memoized_answers_of_changing_users_stand_alone(delta):
    """The victim is away on the second day: the difference of both days is its answer."""

    def law_of(held):
        return transcript_law(held[0], lambda answers: (sum(answers), sum(answers[1:])))

    alone = transcript_law((0,), sum), transcript_law((1,), sum)
    eps = deployed(MEMOIZED | {"same_users": False}, users=4, days=50).epsilon(delta)
    assert eps.upper <= EPS0
    for at in (0.5 * EPS0, eps.upper):
        exact = largest_divergence(law_of, [4], at)
        assert exact == pytest.approx(divergence(*alone, at), abs=1e-12)
    assert divergence(*alone, eps.upper) <= delta
    # If nobody is away, the first day shows one shuffle.
    assert eps.lower > 0.0
    assert divergence(*alone, eps.lower) >= delta
    assert divergence(*alone, eps.upper * 0.99) > delta


def test_memoized_answers_of_values_that_change_have_no_epsilon():
    """If a value changes, so does its answer, which a constant value cannot bring about."""

    def law(first, second):
        answers = transcript_law((0, 1), lambda both: both)
        return Counter(
            {
                key: sum(p for y, p in answers.items() if (y[first], y[second]) == key)
                for key in itertools.product((0, 1), repeat=2)
            }
        )

    assert divergence(law(0, 1), law(0, 0), 30.0) > 0.5


def test_a_group_is_a_shuffle_of_its_members():
    """All reports in one shuffle, of which the members of the group keep theirs more often."""
    high = math.exp(2.0) / (1.0 + math.exp(2.0))
    members, others = 3, 2
    content = {"users": members + others, "days": 1}
    groups = {"old": {"share": 0.6, "eps0": {"a": 2.0}}, "new": {"share": 0.4, "eps0": {"a": EPS0}}}
    deployment = deployed(BINARY, **content, groups=groups)
    eps = deployment.epsilon_of_groups(0.05)
    assert deployment.epsilon(0.05).upper == max(x.upper for x in eps.values())
    for name, first, keeps in (
        ("old", 0, [high] * members + [KEEP] * others),
        ("new", members, [high] * members + [KEEP] * others),
    ):
        for rest in itertools.product((0, 1), repeat=members + others - 1):
            both = [(*rest[:first], x, *rest[first:]) for x in (0, 1)]
            laws = [transcript_law(x, sum, keeps) for x in both]
            assert divergence(*laws, eps[name].upper) <= 0.05
            # Told apart, the reports of the other group say nothing.
    alone = sb.epsilon(sb.KRR(2, 2.0), n=members, delta=0.05)
    assert eps["old"].upper == pytest.approx(alone.upper, rel=0.01)
    assert eps["old"].upper >= alone.lower


def composed(R, rounds, alone=()):
    """An enclosure of ε at 10⁻⁶ that is quick: of a pair of datasets, and of the blanket."""
    lower, upper = (
        sb.compose([*((D, n, times) for n, times in rounds), *alone]).epsilon(1e-6)
        for D in (R.dataset_pair(), R.blanket())
    )
    return sb.Enclosure(lower.lower, upper.upper)


def many_days(count, seed=3):
    rng = np.random.default_rng(seed)
    return [
        (f"2026-01-{i + 1:02d}", int(n))
        for i, n in enumerate(rng.integers(10**4, 4 * 10**4, count))
    ]


@pytest.mark.parametrize("kinds", [2, 3, 100])
def test_rounded_numbers_of_users_leave_the_composition_enclosed(kinds, monkeypatch):
    monkeypatch.setattr(intervals, "MAX_KINDS", kinds * intervals.KINDS_OF_CROWDS)
    days = many_days(4)
    deployment = deployed(BINARY, days=days)
    assert deployment.is_rounded == (kinds < 100)
    rounded = deployment.epsilon(1e-6)
    exact = composed(sb.KRR(2, EPS0), [(n, 1) for _, n in days])
    assert rounded.lower <= exact.upper
    assert rounded.upper >= exact.lower
    assert rounded.relative_width < {2: 0.5, 3: 0.3, 100: 0.02}[kinds]


def test_the_epsilon_of_days_so_far_grows_and_ends_at_the_total():
    days = many_days(3)
    deployment = deployed(BINARY, MEMOIZED | {"same_users": False, "eps0": 0.01}, days=days)
    frame, total = deployment.running(1e-6), deployment.epsilon(1e-6)
    assert list(frame.columns) == [
        *("date", "n", "epsilon_lower", "epsilon_upper", "without_shuffler"),
    ]
    assert (frame.epsilon_lower.iloc[-1], frame.epsilon_upper.iloc[-1]) == (
        total.lower,
        total.upper,
    )
    assert frame.epsilon_upper.is_monotonic_increasing
    assert frame.epsilon_lower.is_monotonic_increasing
    alone = [(sb.KRR(2, 0.01).blanket(), 1, 1)]
    for i in (0, 2):
        rounds = [(n, 1) for _, n in days[: i + 1]]
        exact = composed(sb.KRR(2, EPS0), rounds)
        assert composed(sb.KRR(2, EPS0), rounds, alone).lower <= frame.epsilon_upper[i]
        assert frame.epsilon_upper[i] <= composed(sb.KRR(2, EPS0), rounds, alone).upper * 1.01
        assert exact.lower * 0.99 <= frame.epsilon_lower[i] <= exact.upper
    assert frame.without_shuffler[2] == pytest.approx(3 * EPS0 + 0.01, rel=1e-15)


def test_a_day_so_far_takes_few_evaluations(monkeypatch):
    """Each end of a day begins where that of the next day ended."""
    evaluations, delta = [], LossSum.delta
    monkeypatch.setattr(
        LossSum, "delta", lambda self, *args: evaluations.append(args) or delta(self, *args)
    )
    days = many_days(30)
    deployment = deployed(BINARY, BINARY | {"eps0": 0.5}, days=days)
    total = deployment.epsilon(1e-6)
    evaluations.clear()
    rows = deployment.running_rows(1e-6)
    assert len(evaluations) < 2 * 2.5 * len(days)
    assert rows[-1]["epsilon_upper"] == total.upper
    for i in (0, 9, 20):
        rounds = [(n, 1) for _, n in days[: i + 1]]
        other = [(sb.KRR(2, 0.5), n, times) for n, times in rounds]
        exact = composed(sb.KRR(2, EPS0), rounds, other)
        assert exact.lower * 0.99 <= rows[i]["epsilon_lower"] <= exact.upper
        assert exact.lower <= rows[i]["epsilon_upper"] <= exact.upper * 1.01


def test_a_group_without_eps0_has_that_of_the_reports():
    """The same as a group that repeats it."""
    old, alike = {"share": 0.3, "eps0": {"a": 2.0}}, {"share": 0.7, "eps0": {"a": EPS0}}
    ends = [
        deployed(BINARY, days=2, users=1000, groups={"old": old, "new": new}).epsilon_of_groups(
            1e-6
        )
        for new in (alike, {"share": 0.7})
    ]
    assert ends[0] == ends[1]


def test_shares_are_those_of_each_report_alone_and_of_all_others():
    deployment = deployed(
        BINARY, BINARY | {"eps0": 0.5, "per_day": 2, "linked": True}, users=10**4, days=5
    )
    shares = deployment.shares(1e-6)
    for name, R in (("a", sb.KRR(2, EPS0)), ("b", sb.Joint([sb.KRR(2, 0.5)] * 2))):
        exact = composed(R, [(10**4, 5)])
        assert exact.lower <= shares.alone[name] <= exact.upper * 1.01
        other = "b" if name == "a" else "a"
        assert shares.without[other] == pytest.approx(shares.alone[name], rel=0.01)
    assert shares.shuffles.tolist() == [5, 5]
    assert shares.without_shuffler.tolist() == [5.0, 5.0]
    assert deployment.pure_epsilon == 10.0


def test_a_rate_is_a_fresh_sample_and_does_not_help_memoized_answers():
    fresh = deployed(BINARY | {"rate": 0.1}, users=10**4, days=2).epsilon(1e-6)
    exact = sb.epsilon(sb.Subsampled(sb.KRR(2, EPS0), 0.1), n=10**4, delta=1e-6, rounds=2)
    assert exact.lower <= fresh.upper <= exact.upper * 1.01
    memoized = MEMOIZED | {"same_users": False}
    with_rate, without = (
        deployed(x, users=10**4, days=2).epsilon(1e-6) for x in (memoized | {"rate": 0.1}, memoized)
    )
    assert with_rate.upper == without.upper
    assert with_rate.lower < without.lower


@pytest.mark.parametrize("rate", [0.02, 0.4])
def test_memoized_answers_with_a_rate_are_enclosed(rate):
    """Three users, each of whom sends its answer on each of two days with a probability."""

    def law(held):
        masses = Counter()
        days = [*itertools.product((False, True), repeat=3)]
        for first, second in itertools.product(days, repeat=2):
            share = math.prod(rate if sends else 1 - rate for sends in (*first, *second))

            def publish(answers, first=first, second=second):
                return tuple(
                    (sum(y for y, x in zip(answers, sends, strict=True) if x), sum(sends))
                    for sends in (first, second)
                )

            for outcome, mass in transcript_law(held, publish).items():
                masses[outcome] += share * mass
        return masses

    report = MEMOIZED | {"same_users": False, "rate": rate}
    laws = [(law((0, *rest)), law((1, *rest))) for rest in ((0, 0), (0, 1), (1, 1))]
    for delta in (0.01, 0.1):
        eps = deployed(report, users=3, days=2).epsilon(delta)
        worst = max(divergence(*pair, eps.upper) for law in laws for pair in (law, law[::-1]))
        assert worst <= delta
        if eps.lower > 0.0:
            assert (
                max(divergence(*pair, eps.lower) for law in laws for pair in (law, law[::-1]))
                >= delta
            )


def days_from(first, count, users=1000):
    """Consecutive days, each with one user more than the day before."""
    start = datetime.date.fromisoformat(first)
    return [((start + datetime.timedelta(i)).isoformat(), users + i) for i in range(count)]


def sent_dates(deployment, place=0):
    """The dates, or numbers, of the days on which a report is sent."""
    [sent] = deployment.sent.values()
    return [deployment.days[day][0] for day in sent.parts[place].rounds]


CALENDARS = [
    ({}, "27 28 29 01 02 03 04 05 06 07"),
    ({"every": 7}, "27 05"),
    ({"every": 7, "from": "2024-02-29"}, "29 07"),
    ({"every": 10**6}, "27"),
    ({"every": 3, "from": "2024-02-28", "until": "2024-03-04"}, "28 02"),
    ({"from": "2024-03-06"}, "06 07"),
    ({"until": "2024-02-28"}, "27 28"),
    ({"until": "2025-01-01"}, "27 28 29 01 02 03 04 05 06 07"),
    ({"from": "2024-03-01", "until": "2024-03-01"}, "01"),
    ({"dates": ["2024-03-01", "2024-02-29"]}, "29 01"),
    ({"dates": [datetime.date(2024, 2, 29)]}, "29"),
    ({"weekdays": ["thursday", "monday"]}, "29 04 07"),
    ({"weekdays": ["sunday"], "from": "2024-03-01"}, "03"),
]


@pytest.mark.parametrize(("calendar", "dates"), CALENDARS)
def test_a_report_is_sent_on_the_days_of_its_calendar(calendar, dates):
    """From Tuesday, 27 February 2024, a leap year, to Thursday, 7 March."""
    days = days_from("2024-02-27", 10)
    deployment = deployed(BINARY | calendar, BINARY, days=days)
    assert " ".join(date[-2:] for date in sent_dates(deployment)) == dates
    assert len(sent_dates(deployment, 1)) == 10
    [sent] = deployment.sent.values()
    by_date = dict(days)
    draws = [round_.draws for round_ in sent.parts[0].rounds.values()]
    assert draws == [by_date[date] for date in sent_dates(deployment)]


def test_days_that_are_numbered_have_a_calendar():
    numbered = {"users": 1000, "days": 20}
    assert sent_dates(deployed(BINARY | {"every": 7}, **numbered)) == ["1", "8", "15"]
    calendar = {"every": 7, "from": 6, "until": 13}
    assert sent_dates(deployed(BINARY | calendar, **numbered)) == ["6", "13"]
    assert sent_dates(deployed(BINARY | {"dates": [20]}, **numbered)) == ["20"]


def test_nothing_is_sent_on_days_without_users():
    """The calendar goes on, whatever the days without users are."""
    days = [
        (date, 0 if date[-2:] in ("05", "28") else n) for date, n in days_from("2024-02-27", 10)
    ]
    deployment = deployed(BINARY | {"every": 7}, BINARY | {"every": 2}, days=days)
    assert sent_dates(deployment) == ["2024-02-27"]
    assert [date[-2:] for date in sent_dates(deployment, 1)] == ["27", "29", "02", "04", "06"]
    for once in ({"dates": ["2024-02-28"]}, {"weekdays": ["wednesday"], "until": "2024-03-01"}):
        with pytest.raises(ValueError, match=r"a is sent on no day on which somebody reports"):
            deployed(BINARY | once, days=days)


@pytest.mark.parametrize("delta", [0.02, 0.1])
def test_every_other_day_is_enclosed(delta):
    days = [("2026-01-01", 3), ("2026-01-02", 2), ("2026-01-03", 4)]
    eps = deployed(BINARY | {"every": 2}, days=days).epsilon(delta)
    assert largest_divergence(fresh_law, [3, 4], eps.upper) <= delta
    assert largest_divergence(fresh_law, [3, 4], eps.lower) >= delta * (1 - 1e-9)


@pytest.mark.parametrize("same_users", [True, False])
def test_a_memoized_answer_that_is_sent_once_is_one_shuffle(same_users):
    memoized = MEMOIZED | {"same_users": same_users, "dates": ["2026-01-02"]}
    days = [("2026-01-01", 2), ("2026-01-02", 4)]
    eps = deployed(memoized, days=days).epsilon(0.05)
    assert largest_divergence(fresh_law, [4], eps.upper) <= 0.05
    assert largest_divergence(fresh_law, [4], eps.lower) >= 0.05 * (1 - 1e-9)
    assert eps.upper < EPS0


def test_the_same_users_need_the_same_n_on_the_days_of_the_report_only():
    days = [("2026-01-01", 10), ("2026-01-02", 11), ("2026-01-03", 10)]
    same = MEMOIZED | {"same_users": True}
    with pytest.raises(ValueError, match="n differs from day to day"):
        deployed(same, days=days)
    assert sent_dates(deployed(same | {"every": 2}, days=days)) == ["2026-01-01"]


def test_weeks_with_calendars_are_what_its_rounds_compose_to():
    """A mechanism that changes, a weekly report, and one that is sent once or memoized."""
    rng = np.random.default_rng(4)
    days = [(date, int(rng.choice([40_000, 60_000]))) for date, _ in days_from("2026-01-01", 21)]
    n_of = dict(days)
    start = datetime.date(2026, 1, 1)
    mondays = [str(start + datetime.timedelta(i)) for i in range(4, 21, 7)]
    before = [date for date, _ in days if date < "2026-01-12"]
    after = [date for date, _ in days if date >= "2026-01-12"]
    old, new = sb.KRR(20, 1.0), sb.KRR(20, 0.5)
    krr = {"mechanism": {"type": "krr", "k": 20}, "answers": "fresh"}
    weekly = BINARY | {"eps0": 3.0, "weekdays": ["monday"]}
    once = BINARY | {"dates": ["2026-01-08"]}
    memoized = MEMOIZED | {"same_users": False}
    rounds = [
        *((sb.KRR(2, 3.0), n_of[date], 1) for date in mondays),
        *((old, n_of[date], 1) for date in before),
        *((new, n_of[date], 1) for date in after),
    ]
    changed = krr | {"eps0": 1.0, "until": "2026-01-11"}, krr | {"eps0": 0.5, "from": "2026-01-12"}
    for last, round_ in (
        (once, (sb.KRR(2, EPS0), n_of["2026-01-08"], 1)),
        (memoized, (sb.KRR(2, EPS0), 1, 1)),
    ):
        deployment = deployed(weekly, *changed, last, days=days)
        assert [x.shuffles for x in deployment.sent["all users"]] == [3, 11, 10, 1]
        total = deployment.epsilon(1e-6)
        exact = sb.compose([*rounds, round_]).epsilon(1e-6)
        assert exact.lower <= total.upper <= exact.upper * 1.01
        assert total.lower <= exact.upper
        if last is once:
            assert exact.lower * 0.99 <= total.lower
        running = deployment.running_rows(1e-6)
        assert running[-1]["epsilon_upper"] == total.upper
        assert running[-1]["without_shuffler"] == pytest.approx(3 * 3 + 11 + 5 + 1)


def test_days_before_the_first_report_cost_nothing():
    days = days_from("2026-01-01", 6)
    rows = deployed(BINARY | {"from": "2026-01-03", "every": 2}, days=days).running_rows(1e-6)
    ends = [(row["epsilon_lower"], row["epsilon_upper"]) for row in rows]
    assert ends[0] == ends[1] == (0.0, 0.0)
    assert [row["without_shuffler"] for row in rows] == [0, 0, 1, 1, 2, 2]
    assert 0.0 < ends[2][1] == ends[3][1] < ends[4][1] == ends[5][1]


def test_what_remains_is_rounded_up():
    pure = deployed(BINARY | {"eps0": 0.1}, users=9, days=3).pure_epsilon
    assert 3 * Fraction(0.1) <= Fraction(pure) <= 3 * Fraction(0.1) * (1 + Fraction(2) ** -52)
    deployment = deployed(
        MEMOIZED | {"same_users": False, "per_day": 3, "linked": False}, users=9, days=9
    )
    assert deployment.pure_epsilon == 3.0


def test_without_budget_for_all_datasets_the_blanket_is_used(monkeypatch):
    monkeypatch.setattr(module, "BEST_WORK", 1.0)
    eps = deployed(BINARY, users=10**4, days=2).epsilon(1e-7)
    exact = sb.epsilon(sb.KRR(2, EPS0).blanket(), n=10**4, delta=1e-7, rounds=2)
    assert exact.lower <= eps.upper <= exact.upper * 1.01


def test_an_output_that_gives_a_value_away_leaves_no_epsilon(tmp_path):
    (tmp_path / "m.csv").write_text("0.5,0.5,0\n0.5,0,0.5\n")
    entry = {"mechanism": {"type": "matrix", "file": str(tmp_path / "m.csv")}, "answers": "fresh"}
    deployment = deployed(entry, users=100, days=2)
    assert deployment.epsilon(1e-6).upper == math.inf
    assert deployment.pure_epsilon == math.inf


GOOD = {"users": 1000, "days": 3, "reports": {"a": BINARY}}
MISTAKES = [
    ({}, "reports is missing; a deployment needs: reports"),
    ([], "a deployment must be a mapping with the key reports, got []"),
    (GOOD | {"usres": 3}, "unknown key 'usres'; did you mean users?"),
    ({**GOOD, "users": None}, "users must be an integer from 1 to 1e15, got None"),
    (GOOD | {"users": 10**15 + 1}, "users must be an integer from 1 to 1e15, got 1000000000000001"),
    (GOOD | {"users": "many"}, "users must be an integer from 1 to 1e15, got 'many'"),
    (GOOD | {"days": 0}, "days must be an integer from 1 to 1000000, got 0"),
    ({"users": 3, "reports": {"a": BINARY}}, "days is missing; a deployment needs users and days"),
    ({"days": 3, "reports": {"a": BINARY}}, "users is missing; a deployment needs users and days"),
    (GOOD | {"dropout": -0.1}, "dropout must be a finite number with 0 <= dropout < 1, got -0.1"),
    (GOOD | {"dropout": 1}, "dropout must be a finite number with 0 <= dropout < 1, got 1"),
    (
        GOOD | {"dropout": 10},
        "0 <= dropout < 1, got 10; for 10 % write 0.1",
    ),
    (GOOD | {"dropout": "5%"}, "0 <= dropout < 1, got '5%'; for 5 % write 0.05"),
    (GOOD | {"dropout": "many%"}, "dropout must be a finite number"),
    *(
        (GOOD | {"colluding": share}, f"got {shown}; a share of the users is not a number of them")
        for share, shown in (("5%", "'5%'"), (0.05, "0.05"), ("0.05", "0.05"))
    ),
    (GOOD | {"missing_days": "ok"}, "missing_days must be one of no_reports, refuse, got 'ok'"),
    (GOOD | {"colluding": -1}, "colluding must be an integer from 0 to 1e15, got -1"),
    (GOOD | {"colluding": 1000}, "n must be larger on day 1: of 1000 users none is left"),
    (GOOD | {"reports": {}}, "reports must be a mapping that is not empty, got {}"),
    (GOOD | {"reports": {"a": None}}, "reports.a must be a mapping that is not empty, got None"),
    (GOOD | {"reports": {1: BINARY}}, "reports must have texts as keys: write '1' in quotes"),
]
MISTAKEN_REPORTS = [
    ({"mechanism": None}, "reports.a.mechanism: it must be like {type: krr, k: 10}"),
    ({"mechanism": {"type": "kr"}}, "reports.a.mechanism: type must be one of"),
    ({"mechanism": {"type": "krr"}}, "reports.a.mechanism: k is missing; krr needs: k"),
    ({"mechanism": {"type": "krr", "domain_size": 3}}, "did you mean k?"),
    ({"mechanism": {"type": "krr", "k": 1}}, "reports.a: k must be an integer from 2"),
    ({"mechanism": {"type": "joint", "parts": []}}, "reports.a.mechanism: parts must be a list"),
    ({"eps0": ...}, "reports.a.eps0 is missing: give the eps0 of one answer"),
    ({"eps0": -1}, "reports.a.eps0 must be a finite number with 0 < eps0 <= 300, got -1"),
    ({"eps0": "high"}, "reports.a.eps0 must be a finite number"),
    (
        {"eps0": "0.10000000000000000001"},
        "got 0.10000000000000000001; the nearest one is 0.1",
    ),
    ({"answers": ...}, "reports.a.answers is missing; a report needs: mechanism, answers"),
    ({"answers": "permanent"}, "reports.a.answers must be one of fresh, memoized, got 'permanent'"),
    ({"answers": "memoised"}, "did you mean memoized?"),
    ({"answers": "memoized"}, "reports.a.same_users is missing: do exactly the same users report"),
    ({"same_users": True}, "reports.a.same_users must be left out: answers are fresh"),
    ({"answers": "memoized", "same_users": "yes"}, "reports.a.same_users must be true or false"),
    (
        {"per_day": 2},
        "reports.a.linked is missing: can anything link a user's 2 answers of a day? (true or",
    ),
    ({"per_day": 2, "linked": 1}, "reports.a.linked must be true or false, got 1"),
    ({"linked": True}, "reports.a.linked must be left out: there is one answer a day"),
    ({"per_day": 0}, "reports.a.per_day must be an integer from 1 to 1000000, got 0"),
    ({"per_day": 101, "linked": True}, "per_day must be an integer from 1 to 100,"),
    ({"perday": 2}, "unknown key 'reports.a.perday'; did you mean per_day?"),
    ({"rate": "12.5%"}, "0 <= rate <= 1, got '12.5%'; for 12.5 % write 0.125"),
    ({"rate": 1.5}, "reports.a.rate must be a finite number with 0 <= rate <= 1, got 1.5"),
    (
        {"answers": "memoized", "same_users": True, "rate": 0.5},
        "reports.a.same_users must be false: with a rate, senders differ every day",
    ),
    ({"per_day": 10**6, "linked": False}, "the number of shuffles must be an integer from 1"),
    ({"every": 0}, "reports.a.every must be an integer from 1 to 1000000, got 0"),
    ({"every": "weekly"}, "reports.a.every must be an integer from 1 to 1000000, got 'weekly'"),
    ({"evry": 7}, "unknown key 'reports.a.evry'; did you mean every?"),
    ({"from": 4}, "reports.a.from must be a day from 1 to 3, got 4"),
    ({"from": "2026-01-31"}, "got '2026-01-31'; days are numbered unless a CSV file has dates"),
    ({"until": 0}, "reports.a.until must be an integer from 1 to 1000000, got 0"),
    ({"from": 3, "until": 2}, "reports.a.until must not be before from, 3, got 2"),
    ({"dates": []}, "reports.a.dates must be a list such as [1], got []"),
    ({"dates": 2}, "reports.a.dates must be a list such as [1], got 2"),
    ({"dates": [2, 2]}, "reports.a.dates must not name 2 twice"),
    ({"dates": [2, 4]}, "each of reports.a.dates must be a day from 1 to 3, got 4"),
    ({"dates": [2], "every": 7}, "reports.a.every must be left out if there are dates"),
    ({"dates": [2], "until": 3}, "reports.a.until must be left out if there are dates"),
    ({"weekdays": ["monday"]}, "reports.a.weekdays needs dates: give the users of each day"),
]
MISTAKEN_CALENDARS = [
    ({"from": "2025-12-31"}, "reports.a.from must be a day from 2026-01-01 to 2026-01-03, got"),
    ({"from": "2026-01-04"}, "must be a day from 2026-01-01 to 2026-01-03, got 2026-01-04"),
    ({"from": "2026-02-29"}, "reports.a.from must be like 2026-01-31, got '2026-02-29': day"),
    ({"from": 2}, "reports.a.from must be like 2026-01-31, got '2'"),
    ({"until": "2025-12-31"}, "reports.a.until must not be before the first day, 2026-01-01, got"),
    ({"dates": ["2026-01-02", "2027-01-02"]}, "to 2026-01-03, got 2027-01-02"),
    ({"dates": ["2026-1-2"]}, "each of reports.a.dates must be like 2026-01-31, got '2026-1-2'"),
    ({"dates": ["2026-01-02", "20260102"]}, "reports.a.dates must not name 2026-01-02 twice"),
    ({"weekdays": ["mon"]}, "got 'mon' (did you mean monday?)"),
    ({"weekdays": "monday"}, "reports.a.weekdays must be a list such as [monday], got 'monday'"),
    ({"weekdays": ["monday", "monday"]}, "reports.a.weekdays must not name monday twice"),
    ({"weekdays": ["friday"], "every": 7}, "every must be left out if there are weekdays"),
    ({"weekdays": ["sunday"]}, "reports.a is sent on no day on which somebody reports"),
]
MISTAKEN_GROUPS = [
    ({}, "groups must be a mapping that is not empty, got {}"),
    ({"old": {"eps0": {"a": 1}}}, "groups.old.share is missing; a group needs: share"),
    (
        {"old": {"share": "30 %"}},
        "0 < share <= 1, got '30 %'; for 30 % write 0.3",
    ),
    (
        {"old": {"share": 0, "eps0": {"a": 1}}},
        "share must be a finite number with 0 < share <= 1, got 0",
    ),
    (
        {"old": {"share": 0.5, "eps0": {"b": 1}}},
        "groups.old.eps0.b is not a parameter of the reports",
    ),
    (
        {"old": {"share": 0.5, "eps0": {"a": 0}}},
        "groups.old.eps0.a must be a finite number with 0 <",
    ),
    (
        {name: {"share": 0.6, "eps0": {"a": 1}} for name in ("old", "new")},
        "groups must have shares that sum to 1 at most, got 1.2",
    ),
    (
        {"few": {"share": 1e-4, "eps0": {"a": 1}}, "new": {"share": 0.5, "eps0": {"a": 2}}},
        "in group few",
    ),
]


def changed(changes):
    report = {key: value for key, value in (BINARY | changes).items() if value is not ...}
    return GOOD | {"reports": {"a": report}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *MISTAKES,
        *((changed(changes), message) for changes, message in MISTAKEN_REPORTS),
        *((GOOD | {"groups": groups}, message) for groups, message in MISTAKEN_GROUPS),
    ],
)
def test_a_mistake_names_its_key(content, message):
    with pytest.raises(ValueError, match=r".") as error:
        sb.Deployment(content)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("changes", "message"), MISTAKEN_CALENDARS)
def test_a_mistake_in_a_calendar_of_dates_names_its_key(changes, message):
    with pytest.raises(ValueError, match=r".") as error:
        deployed(BINARY | changes, days=days_from("2026-01-01", 3))
    assert message in str(error.value)


@pytest.mark.parametrize(("key", "value"), [("dropout", 0.1), ("users", None)])
def test_the_same_users_cannot_be_away_or_more_on_another_day(key, value):
    content = changed({"answers": "memoized", "same_users": True})
    assert sb.Deployment(content).epsilon(0.01).upper < EPS0
    days = None
    if key == "users":
        content = {"reports": content["reports"]}
        days = [("2026-01-01", 10), ("2026-01-02", 11)]
    else:
        content |= {key: value}
    with pytest.raises(ValueError, match=r"reports\.a\.same_users must be false, since"):
        sb.Deployment(content, days)


DAYS = "date,n\n2026-01-01,1000\n2026-01-02,2000\n"
MISTAKEN_DAYS = {
    "": "line 1 must name the columns date and n, separated by commas, got nothing",
    "day,users\n2026-01-01,5\n": "line 1 must name the columns date and n, separated by commas",
    "date;n\n2026-01-01;5\n": "got date;n",
    "date,n\n": "there must be one day or more, got none",
    DAYS + "2026-01-01,3\n": "date 2026-01-01 is given twice",
    DAYS + "2026-13-01,3\n": "line 4: date must be like 2026-01-31, got '2026-13-01'",
    DAYS + "01.02.2026,3\n": "line 4: date must be like 2026-01-31",
    DAYS + "2026-01-03,\n": "line 4: n is missing: write the number of users, 0 if nobody",
    "date,n\n2026-01-03,0\n": "n must be 1 or more on some day, got 0 on all days",
    DAYS + "2026-01-04,7\n2026-01-06,7\n": "2 of the 6 dates from 2026-01-01 to 2026-01-06 have no "
    "row: 2026-01-03, 2026-01-05; add a row for each, with n = 0 if nobody reported, or write "
    "missing_days: no_reports",
    DAYS + "2026-01-30,7\n": "have no row: 2026-01-03 to 2026-01-29; add",
    DAYS
    + "2026-01-04,1\n": "1 of the 4 dates from 2026-01-01 to 2026-01-04 has no row: 2026-01-03;",
    DAYS + "2026-01-03,-5\n": "line 4: n must be an integer from 0 to 1e15, got -5",
    DAYS + "2026-01-03,1e16\n": "line 4: n must be an integer from 0 to 1e15, got 1e16",
    DAYS + "2026-01-03,2.5\n": "line 4: n must be an integer from 0 to 1e15, got 2.5",
    DAYS + "2026-01-03,1e999999999\n": "line 4: n must be an integer from 0 to 1e15, got '1e9999",
    DAYS + "2026-01-03\n": "line 4: n must be an integer from 0 to 1e15, got None",
    DAYS + "2026-01-03,1,2\n": "line 4: a line has 2 cells, got more",
    DAYS + "2026-01-03,many\n": "line 4: n must be an integer from 0 to 1e15, got 'many'",
}


@pytest.mark.parametrize("text", MISTAKEN_DAYS)
def test_a_mistake_in_the_days_names_its_line(text, tmp_path):
    (tmp_path / "days.csv").write_text(text)
    (tmp_path / "d.json").write_text(json.dumps({"reports": {"a": BINARY}}))
    with pytest.raises(ValueError, match=r".") as error:
        sb.Deployment.read(tmp_path / "d.json", tmp_path / "days.csv")
    assert str(error.value).startswith(f"{tmp_path / 'days.csv'}: ")
    assert MISTAKEN_DAYS[text] in str(error.value)


def test_days_without_reports_cost_nothing_and_are_named(tmp_path):
    """Whether a row says that nobody reported, or the description says it of all missing rows."""
    active = [("2026-02-27", 1000), ("2026-03-02", 2000)]
    silent = ["2026-02-28", "2026-03-01", "2026-03-03"]
    days = [*active, *((date, 0) for date in silent)]
    listed = deployed(BINARY, days=days)
    unlisted = deployed(BINARY, days=[*active, days[-1]], missing_days="no_reports")
    exact = composed(sb.KRR(2, EPS0), [(n, 1) for _, n in active])
    for deployment in (listed, unlisted):
        assert list(deployment.days) == active
        assert list(deployment.description.silent_dates) == silent
        assert deployment.dates == ("2026-02-27", "2026-03-03")
        end = deployment.epsilon(1e-6)
        assert exact.lower * 0.99 <= end.lower <= exact.upper
        assert exact.lower <= end.upper <= exact.upper * 1.01
    assert deployed(BINARY, days=3, users=1000).dates is None
    same = MEMOIZED | {"same_users": True}
    assert len(deployed(same, days=[active[0], ("2026-02-28", 0)]).days) == 1


def test_dates_are_named_in_few_words():
    dates = [f"2026-01-{day:02}" for day in range(1, 32, 2)]
    text = description.stretches_of(dates)
    assert text == ", ".join([*dates[: description.MAX_STRETCHES], "11 more"])
    text = description.stretches_of(["2025-12-31", "2026-01-01", "2026-01-03"])
    assert text == "2025-12-31 to 2026-01-01, 2026-01-03"


def test_days_may_be_written_in_other_ways(tmp_path):
    (tmp_path / "days.csv").write_bytes(
        b"\xef\xbb\xbfn , date,note\r\n2e3,20260102,x\r\n\r\n1000,2026-01-01,\r\n"
    )
    (tmp_path / "d.json").write_text(json.dumps({"reports": {"a": BINARY}}))
    deployment = sb.Deployment.read(tmp_path / "d.json", tmp_path / "days.csv")
    assert list(deployment.days) == [("2026-01-01", 1000), ("2026-01-02", 2000)]
    assert repr(deployment) == "<Deployment: a on 2 days>"


MISTAKEN_FILES = {
    "a: [": "it is not valid YAML: ",
    "reports: 1\nreports: 2\n": "reports is given twice; give it once",
    "? [a]\n: 1\n": "it is not valid YAML: ",
    "!!python/name:os.system x": "it is not valid YAML: could not determine a constructor",
    "&a [*a]": "a deployment must be a mapping",
    "- 1": "a deployment must be a mapping",
    "\xff": "a deployment must be a mapping",
    "users: 2e6\ndays: 2\nreports: {a: {mechanism: {type: krr, k: 2}, eps0: 1, answers: frsh}}": (
        "(did you mean fresh?)"
    ),
}


@pytest.mark.parametrize("text", MISTAKEN_FILES)
def test_a_mistake_in_a_file_names_the_file(text, tmp_path):
    path = tmp_path / "d.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r".") as error:
        sb.Deployment.read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert MISTAKEN_FILES[text] in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    (tmp_path / "d.json").write_text("{")
    for path in (tmp_path / "none.yaml", tmp_path / "d.json"):
        with pytest.raises(ValueError, match=path.name):
            sb.Deployment.read(path)
    with pytest.raises(ValueError, match=r"none\.csv: No such file"):
        sb.Deployment.read(tmp_path / "d.json", tmp_path / "none.csv")


def test_yaml_is_not_needed_for_json(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    (tmp_path / "d.json").write_text(json.dumps(GOOD))
    assert len(sb.Deployment.read(tmp_path / "d.json").days) == 3
    (tmp_path / "d.yaml").write_text(json.dumps(GOOD))
    with pytest.raises(ValueError, match=r"pip install pyyaml"):
        sb.Deployment.read(tmp_path / "d.yaml")


def test_numbers_that_yaml_takes_for_texts_are_numbers(tmp_path):
    (tmp_path / "d.yaml").write_text(
        "users: 1e5\ndays: 2\nreports:\n  a: {mechanism: {type: krr, k: 2}, eps0: 1e-1, "
        "answers: fresh}"
    )
    deployment = sb.Deployment.read(tmp_path / "d.yaml")
    assert deployment.days[0] == ("1", 100_000)
    assert deployment.pure_epsilon == 0.2


SCHEMA = json.loads((ROOT / "docs" / "deployment.schema.json").read_text(encoding="utf-8"))


def test_the_schema_for_editors_has_the_keys_of_descriptions():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    required = {"deployment": ["reports"], "report": ["mechanism", "answers"], "group": ["share"]}
    for name, schema in {"deployment": SCHEMA, **SCHEMA["$defs"]}.items():
        if name in required:
            assert schema["required"] == required[name]
            assert schema["additionalProperties"] is False


# What depends on several keys, on the mechanism or on the kind of sharing is no matter of a schema.
BEYOND_SCHEMAS = (
    *("none is left", "a.mechanism: type", "k is missing", "did you mean k?", "a: k must", "parts"),
    *("eps0 is missing", "linked is missing", "linked must be left out", "1 to 100,", "shuffles"),
    *("with a rate", "texts as keys", "of the reports", "sum to 1", "in group few"),
    *("a day from", "days are numbered", "not be before", "there are dates", "needs dates"),
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *MISTAKES,
        *((changed(changes), message) for changes, message in MISTAKEN_REPORTS),
        *((GOOD | {"groups": groups}, message) for groups, message in MISTAKEN_GROUPS),
    ],
)
def test_an_editor_marks_what_is_refused(content, message):
    jsonschema.validate(GOOD, SCHEMA)
    try:
        jsonschema.validate(content, SCHEMA)
    except jsonschema.ValidationError:
        return
    assert any(part in message for part in BEYOND_SCHEMAS)
