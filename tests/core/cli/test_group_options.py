"""Groups of users with mechanisms of their own, on the command line and in configurations."""

import json

import pytest
from commands import run

import shufflebounds as sb
from shufflebounds.core.setting import Setting
from shufflebounds.curves import curve as curves
from shufflebounds.curves import specification
from shufflebounds.protocols import registry

OPTIONS = ("--group", "400 krr k=4 eps0=.5", "--group", "4e2 krr k=4 eps0=2")
GROUPS = sb.Groups([(400, sb.KRR(4, 0.5)), (400, sb.KRR(4, 2.0))])


def answer(*args):
    return json.loads(run(*args, *OPTIONS, "--json").output)


def test_the_command_line_has_the_answers_of_python():
    facts = answer("epsilon", "--delta", "1e-6")
    assert (facts["n"], facts["n_honest"], facts["protocol"]) == (800, 800, "groups")
    assert facts["best"]["upper"] == sb.epsilon(GROUPS, n=800, delta=1e-6).upper
    first = answer("epsilon", "--delta", "1e-6", "--victim", "1")
    assert first["best"]["upper"] == sb.epsilon(GROUPS.members()[0], n=800, delta=1e-6).upper
    assert first["covered"] == "members of group 1"
    assert answer("delta", "--eps", ".3")["best"]["upper"] == sb.delta(GROUPS, 0.3, 800).upper
    divergence = answer("renyi", "--order", "4")
    assert divergence["best"]["upper"] == sb.renyi(GROUPS, n=800, order=4.0).upper
    assert "lower" not in divergence


def test_bounds_that_need_one_mechanism_of_all_users_are_not_asked():
    assert {"stronger_clone", "clone"}.isdisjoint(answer("epsilon", "--delta", "1e-6"))
    assert "clone" not in run("check", "--delta", "1e-6", "--eps", "1", "--all", *OPTIONS).output


def test_claims_are_judged():
    for eps, verdict, code in (("1", "PROVEN", 0), (".1", "REFUTED", 1)):
        result = run("check", "--delta", "1e-6", "--eps", eps, *OPTIONS)
        assert result.exit_code == code
        assert verdict in result.output


def test_the_advantage_lies_between_its_bounds():
    advantage = answer("risk")["advantage"]
    assert advantage["lower"]["lower"] <= advantage["best"]["upper"]
    assert advantage["best"]["upper"] <= advantage["blanket"]["upper"]


def test_the_answer_names_mechanisms_and_explains_itself(tmp_path):
    path = tmp_path / "report.md"
    result = run("epsilon", "--delta", "1e-6", "--explain", "--report", str(path), *OPTIONS)
    assert "400 users of 4-RR (eps0 = 0.5), 400 users of 4-RR (eps0 = 2)" in result.output
    assert "third third" in result.output
    assert "Theorem P" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--n", "7"), "--n must be 800, the sum of all groups, got 7"),
        (("--k", "4"), "--k must be left out: each --group has a mechanism of its own"),
        (("--part", "krr k=4"), "--part must be left out: each --group has a mechanism"),
        (("--eps0", "1"), "--eps0 must be left out: --group sets the noise of groups"),
        (("--dropout", ".1"), "--dropout must be left out: the numbers of users in --group"),
        (("--colluding", "1"), "--colluding must be left out: the numbers of users in --group"),
        (("--rate", ".1"), "--rate must be left out: each --group has a mechanism"),
        (("--also", "100:2"), "--also must be left out: --group has the numbers of users"),
        (("--victim", "3"), "victim must be an integer from 1 to 2, got 3"),
        (("--group", "9 krr k=4"), "eps0 is missing; each group must have its own"),
        (("--group", "krr k=4"), "--group must be a number of users, a mechanism and its"),
        (("--group", "0 krr k=4 eps0=1"), r"groups[2].users must be an integer from 1 to"),
        (("--group", "9 krr k=5 eps0=1"), "groups must have the same outputs"),
    ],
)
def test_mistakes_in_one_sentence(options, sentence):
    result = run("epsilon", "--delta", "1e-6", *OPTIONS, *options)
    assert result.exit_code == 2
    assert sentence in result.output
    assert result.output.count("\n") == 1


def test_groups_that_do_not_fit_a_command():
    result = run("users", "--eps", "1", "--delta", "1e-6", *OPTIONS)
    assert "--group must be left out: it fixes the number of users" in result.output
    result = run("eps0", "--eps", "1", "--delta", "1e-6", *OPTIONS)
    assert "There is no eps0 to choose: --group sets the noise of groups" in result.output
    result = run("epsilon", "krr", "--delta", "1e-6", *OPTIONS)
    assert "krr must be left out: each --group has a mechanism of its own" in result.output
    result = run("epsilon", "krr", "--k", "4", "--eps0", "1", "--delta", "1e-6", "--victim", "1")
    assert "--victim must be left out: it is the number of a --group" in result.output
    assert "Missing option '--n'." in run("risk", "krr", "--k", "4", "--eps0", "1").output


def test_curves_along_delta_and_along_a_scale_of_users(tmp_path):
    path = tmp_path / "curve.csv"
    ends = ("--start", "800", "--stop", "1600", "--points", "2", "-o", str(path))
    run("curve", "--bound", "best", "--delta", "1e-6", *ends, *OPTIONS)
    table = curves.read(path)
    assert list(table["n"]) == [800, 1600]
    assert table["epsilon_upper"][0] == sb.epsilon(GROUPS, n=800, delta=1e-6).upper
    assert table["epsilon_upper"][1] == sb.epsilon(GROUPS.scaled(1600), n=1600, delta=1e-6).upper
    run("curve", "--bound", "best", "--x", "delta", "--points", "2", "-o", str(path), *OPTIONS)
    assert list(curves.read(path)["n"]) == [800, 800]
    result = run("curve", "--delta", "1e-6", "--x", "eps0", *OPTIONS)
    assert "--x must not be eps0: --group sets the noise of groups" in result.output


def test_configurations_have_groups():
    content = {
        "type": "groups",
        "groups": [
            {"users": 400, "mechanism": {"type": "krr", "k": 4, "eps0": eps0}}
            for eps0 in (0.5, 2.0)
        ],
    }
    described = registry.parse_sent(content)
    assert described.plain() == content
    assert registry.parse_sent({**content, "victim": 2}).protocol(Setting()) == GROUPS.members()[1]
    assert described.protocol(Setting(n=1600)) == GROUPS.scaled(1600)
    curve = sb.curve(content, delta=[1e-6, 1e-5])
    assert curve.points[0].setting.n == 800
    assert specification.read(curve.specification.text()) == curve.specification


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": []}, "groups must be a list of groups that is not empty"),
        ({"groups": [3]}, r"groups\[0\] must be a mapping with users and mechanism, got 3"),
        ({"groups": [{"users": 3}]}, r"groups\[0\]\.mechanism is missing"),
        (
            {"groups": [{"users": 3, "mechanism": {"type": "krr", "k": 4}}]},
            r"groups\[0\]\.mechanism must have an eps0 of its own",
        ),
        ({"members": 1}, "members is not a parameter of groups"),
    ],
)
def test_mistakes_in_configurations(change, message):
    with pytest.raises(ValueError, match=message):
        registry.parse_sent({"type": "groups", "groups": [], **change})


def test_python_takes_groups_where_it_takes_curves():
    curve = sb.curve(GROUPS, n=800, delta=[1e-6, 1e-5])
    upper = sb.epsilon(GROUPS, n=800, delta=1e-6).upper
    assert curve.enclosures[0].upper == pytest.approx(upper, rel=1e-6)
    with pytest.raises(ValueError, match="n must be 800, the number of users of all groups"):
        sb.curve(GROUPS, n=[100, 800], delta=1e-6)
    with pytest.raises(ValueError, match="be that of all users"):
        sb.worst_dataset(GROUPS, n=800, eps=0.1)


def test_scaled_groups_keep_their_shares():
    groups = sb.Groups([(100, sb.KRR(4, 0.5)), (250, sb.KRR(4, 1.0)), (50, sb.KRR(4, 2.0))])
    for n in (8, 401, 4000, 12345):
        scaled = groups.scaled(n)
        assert scaled.n == n
        for (size, _), (share, _) in zip(scaled.groups, groups.groups, strict=True):
            assert abs(size - n * share / 400) < 1
    with pytest.raises(ValueError, match="n must be large enough for a user of group 3, got 2"):
        groups.scaled(2)
