"""The command that accounts for a deployment: what it prints, writes and refuses."""

import csv
import datetime
import json
import math
import re
import subprocess
import sys

import pytest
from commands import run, run_in_terminal, succeed
from repository import ROOT

import shufflebounds as sb

DEPLOYMENT = {
    "dropout": 0.5,
    "reports": {
        "browser": {"mechanism": {"type": "krr", "k": 10}, "eps0": 1.0, "answers": "fresh"},
        "crashes": {
            "mechanism": {"type": "duchi"},
            "eps0": 0.5,
            "answers": "fresh",
            "per_day": 2,
            "linked": True,
        },
    },
}
DAYS = "date,n\n2026-01-02,20000\n2026-01-01,30000\n"
MEMOIZED = {
    "mechanism": {"type": "krr", "k": 2},
    "eps0": 0.1,
    "answers": "memoized",
    "same_users": False,
}


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The command of a deployment in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deployment.json").write_text(json.dumps(DEPLOYMENT))
    (tmp_path / "days.csv").write_text(DAYS)
    return ("account", "deployment.json", "--days", "days.csv", "--delta", "1e-6")


def total(reports=DEPLOYMENT, days=((("2026-01-01"), 30000), (("2026-01-02"), 20000))):
    return sb.Deployment(reports, list(days)).epsilon(1e-6)


def test_it_prints_the_total_the_shares_and_what_remains(asked):
    text = succeed(*asked).stdout
    assert " ".join(text.split()).startswith(
        "deployment.json: 2 days from 2026-01-01 to 2026-01-02, of 20000 to 30000 users, one user "
        "replaced, delta = 1e-06 You can claim"
    )
    assert f"You can claim epsilon = {outward(total().upper)}." in text
    assert "If the shuffler fails, epsilon = 4 remains, with delta = 0." in " ".join(text.split())
    rows = [line.split() for line in text.splitlines()]
    (browser,) = (row for row in rows if row[:1] == ["browser"])
    assert browser[1:3] == ["2", "10000"]
    assert browser[-1] == "0.02"
    (last,) = (row for row in rows if row[:2] == ["all", "reports"])
    assert last[2:] == ["4", outward(total().upper), "4"]
    (lower,) = (row for row in rows if row[:2] == ["lower", "bound"])
    assert lower[2:] == [sb.core.enclosure.outward(total().lower, up=False)]
    explained = " ".join(succeed(*asked, "--explain").stdout.split())
    assert "at most a share of 0.5 drops out and 0 collude" in explained


def outward(value):
    return sb.core.enclosure.outward(value, up=True)


def test_the_object_has_every_number_and_the_question(asked):
    found = json.loads(succeed(*asked, "--json", "--budget", "0.9").stdout)
    end = total()
    assert found["epsilon"] == {"lower": end.lower, "upper": end.upper}
    assert found["deployment"] == DEPLOYMENT
    assert found["days"] == [["2026-01-01", 30000], ["2026-01-02", 20000]]
    assert (found["without_shuffler"], found["budget"]) == (4.0, 0.9)
    assert found["within_budget"] is True
    assert found["groups"] == {"all users": found["epsilon"]}
    shares = sb.Deployment(DEPLOYMENT, [("2026-01-01", 30000), ("2026-01-02", 20000)]).shares(1e-6)
    for name, row in found["reports"].items():
        assert row["alone"]["upper"] == shares.alone[name]
        assert row["without"]["upper"] == shares.without[name]
    # 10 000 of 20 000 users answer, by randomized response of 10 values.
    own, other = math.e / (math.e + 9), 1 / (math.e + 9)
    variance = (own * (1 - own) + 9 * other * (1 - other)) / (own - other) ** 2 / 10 / 10_000
    assert found["reports"]["browser"]["standard_error"] == pytest.approx(math.sqrt(variance))
    part = sb.Duchi(0.5).error(10_000).standard_error
    assert found["reports"]["crashes"]["standard_error"] == pytest.approx(part)


@pytest.mark.parametrize(
    ("budget", "verdict", "exit_code"),
    [(2.0, "WITHIN the budget of 2.0.", 0), (0.01, "BEYOND the budget of 0.01.", 1)],
)
def test_the_budget_is_a_gate(asked, budget, verdict, exit_code):
    result = run(*asked, "--budget", budget)
    assert result.exit_code == exit_code
    assert verdict in result.stdout


def test_a_budget_between_the_ends_is_not_shown_to_be_kept(asked):
    end = total()
    result = run(*asked, "--budget", repr((end.lower + end.upper) / 2))
    assert result.exit_code == 1
    assert "NOT SHOWN to be within the budget" in result.stdout
    assert run(*asked, "--budget", repr(end.upper)).exit_code == 0


def test_the_running_total_is_a_table(asked, tmp_path):
    succeed(*asked, "--running", "running.csv")
    rows = list(csv.DictReader((tmp_path / "running.csv").open()))
    assert [row["date"] for row in rows] == ["2026-01-01", "2026-01-02"]
    end = total()
    assert float(rows[-1]["epsilon_upper"]) == end.upper
    first = total(days=[("2026-01-01", 30000)])
    assert first.lower <= float(rows[0]["epsilon_upper"]) <= first.upper * 1.01


LINE = re.compile(r'([a-z_]+)\{deployment="deployment",delta="1e-06"\} ([-+.eInf0-9]+)')


def test_the_state_is_a_text_for_a_node_exporter(asked, tmp_path):
    succeed(*asked, "--running", "s.prom", "--format", "prometheus", "--budget", "3")
    text = (tmp_path / "s.prom").read_text()
    assert text.endswith("\n")
    lines = text.splitlines()
    values = {}
    for about, kind, line in zip(*[iter(lines)] * 3, strict=True):
        name, value = LINE.fullmatch(line).groups()
        assert re.fullmatch(rf"# HELP {name} [A-Z].*\.", about)
        assert kind == f"# TYPE {name} gauge"
        values[name] = float(value)
    assert values == {
        "shufflebounds_epsilon": total().upper,
        "shufflebounds_epsilon_lower_bound": total().lower,
        "shufflebounds_epsilon_without_shuffler": 4.0,
        "shufflebounds_days": 2.0,
        "shufflebounds_budget_epsilon": 3.0,
    }


def test_memoized_answers_that_stand_alone_are_named(asked, tmp_path):
    reports = {**DEPLOYMENT["reports"], "country": MEMOIZED}
    (tmp_path / "deployment.json").write_text(json.dumps(DEPLOYMENT | {"reports": reports}))
    text = " ".join(succeed(*asked).stdout.split())
    assert "Shuffling does not protect country: users who report on one day and not on" in text
    assert "If the shuffler fails, epsilon = 4.1 remains" in text


def test_the_group_with_the_largest_epsilon_is_shown(asked, tmp_path):
    groups = {
        "old": {"share": 0.5, "eps0": {"browser": 2}},
        "new": {"share": 0.5, "eps0": {"browser": 1}},
    }
    (tmp_path / "deployment.json").write_text(
        json.dumps(DEPLOYMENT | {"dropout": 0.1, "groups": groups})
    )
    found = json.loads(succeed(*asked, "--json").stdout)
    assert (
        found["epsilon"]["upper"]
        == found["groups"]["old"]["upper"]
        > found["groups"]["new"]["upper"]
    )
    browser = found["reports"]["browser"]
    assert (browser["mechanism"], browser["eps0"]) == ("krr(k=10)", 2.0)
    assert any("these shares of the users: old 0.5, new 0.5." in x for x in found["notes"])
    assert any("eps0 = 2.0 in group old, 1.0 in group new" in note for note in found["notes"])


def test_the_claims_are_proven_by_the_second_program(asked, tmp_path):
    pytest.importorskip("flint")
    text = " ".join(succeed(*asked, "--claim", "claim.json").stdout.split())
    claims = json.loads((tmp_path / "claim.json").read_text())
    assert [(x["bound"], x["n"], x["rounds"]) for x in claims] == [("blanket", 10000, 2)] * 2
    assert sum(x["delta"] for x in claims) <= 1e-6
    (stated,) = re.findall(r"together they prove epsilon = ([\d.]+) by basic", text)
    assert float(stated) >= sum(x["eps"] for x in claims) >= total().lower
    done = subprocess.run(
        [sys.executable, ROOT / "verify" / "verify.py", "claim.json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("proven") == 2


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_the_report_has_the_answer_and_the_assumptions(asked, tmp_path, suffix):
    succeed(*asked, "--report", f"page{suffix}", "--budget", "2")
    page = (tmp_path / f"page{suffix}").read_text()
    sent = "crashes: duchi at eps0 = 0.5, fresh, 2 a day, linked."
    assert sent in re.sub(r"\\(?=\W)", "", page)
    for part in ("WITHIN the budget of 2.0.", "browser", "at most a share of 0.5", "must overlap"):
        assert part in page
    for part in ("2 days from 2026-01-01 to 2026-01-02", datetime.date.today().isoformat()):
        assert part in re.sub(r"\\(?=\W)", "", page)
    # 15 000 of 30 000 users report.
    assert re.search(r"delta times the largest n is 0\.015\.", page)


MISTAKES = [
    (("none.json",), "none.json: No such file or directory"),
    (("--days", "none.csv"), "none.csv: No such file or directory"),
    (("--delta", "2"), "delta must be a finite number with 1e-300 <= delta < 1, got 2"),
    (("--budget", "-1"), "--budget must be a finite number with budget >= 0, got -1"),
    (("--format", "xml"), "'xml' is not one of csv, prometheus."),
    (("--running", "none/x.csv"), "Directory 'none' does not exist."),
    (("--claim", "x.txt"), "'x.txt' must end in .json."),
    (("--rounds", "3"), "No such option '--rounds'"),
    (("--format", "prometheus"), "--format needs --running, the file to write"),
    (("--delta", "1e-6"), "Missing argument 'DESCRIPTION'."),
]


@pytest.mark.parametrize(("given", "message"), MISTAKES)
def test_a_mistake_ends_in_one_sentence(asked, given, message):
    command = ("account", *given, *asked[2:]) if given[0][0] != "-" else (*asked, *given)
    result = run(*(("account", *given) if "DESCRIPTION" in message else command))
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


NOBODY = [
    (("--delta", "0.5", "--budget", "1"), "delta = 0.5 is above 1/n and protects nobody"),
    (("--delta", "1e-4", "--budget", "1e3"), "delta = 0.0001 is above 1/n and protects nobody"),
]


@pytest.mark.parametrize(("given", "note"), NOBODY)
def test_a_delta_that_protects_nobody_is_not_just_within_the_budget(asked, given, note):
    """The notes are those of `epsilon`, for the same n, also in the object."""
    command = (*asked[:-2], *given)
    text = " ".join(succeed(*command).stdout.split())
    assert f"WITHIN the budget of {float(given[-1])}, but these numbers protect nobody." in text
    assert note in text
    notes = json.loads(succeed(*command, "--json").stdout)["notes"]
    single = ("--mechanism", "krr", "--k", "10", "--eps0", "1", "--n", "15000", *given[:2])
    of_epsilon = json.loads(succeed("epsilon", *single, "--json").stdout)["notes"]
    assert [x for x in notes if "nobody" in x] == [x for x in of_epsilon if "nobody" in x] != []


def test_an_epsilon_that_protects_nobody_is_noted(asked, tmp_path):
    content = {"reports": {"a": {"mechanism": {"type": "krr", "k": 2}, "eps0": 40}}}
    content["reports"]["a"]["answers"] = "fresh"
    (tmp_path / "deployment.json").write_text(json.dumps(content))
    for given, verdict in ((("--budget", "90"), "WITHIN the budget of 90.0, but these"), ((), "")):
        text = " ".join(succeed(*asked, *given).stdout.split())
        assert verdict in text
        assert "protects nobody: an attacker may be certain of a user's value" in text
    assert "but these" not in run(*asked, "--budget", "1").stdout


def test_dates_without_reports_are_named(asked, tmp_path):
    (tmp_path / "days.csv").write_text(f"{DAYS}2026-01-05,1000\n")
    refused = run(*asked)
    assert refused.exit_code == 2
    assert "days.csv: 2 of the 5 dates from 2026-01-01 to 2026-01-05 have no row" in refused.stderr
    (tmp_path / "deployment.json").write_text(
        json.dumps(DEPLOYMENT | {"missing_days": "no_reports"})
    )
    text = " ".join(succeed(*asked).stdout.split())
    assert "3 days from 2026-01-01 to 2026-01-05, of 1000 to 30000 users" in text
    assert "Nobody reports on 2 dates, which the answer does not count: 2026-01-03 to" in text
    found = json.loads(succeed(*asked, "--json").stdout)
    assert found["days_without_reports"] == ["2026-01-03", "2026-01-04"]
    assert any(note.startswith("Nobody reports on 2 dates") for note in found["notes"])


def test_a_calendar_is_in_every_answer(asked, tmp_path):
    """In the table, the claims, the days so far, and the explanation."""
    pytest.importorskip("yaml")
    (tmp_path / "deployment.yaml").write_text(
        "reports:\n"
        "  a:\n    weekdays: [tuesday, friday]\n"
        "    mechanism: {type: krr, k: 9}\n    eps0: 1\n    answers: fresh\n"
        "  b: {mechanism: {type: krr, k: 2}, eps0: 2, answers: fresh, dates: [2024-02-29]}\n"
        "  c: {mechanism: {type: krr, k: 2}, eps0: 2, answers: fresh}\n"
    )
    days = [f"2024-02-{day},{1000 * day}" for day in range(24, 30)]
    (tmp_path / "days.csv").write_text("\n".join(["date,n", *days]))
    command = ("account", "deployment.yaml", *asked[2:])
    files = ("--running", "r.csv", "--claim", "c.json")
    text = " ".join(succeed(*command, *files, "--explain").stdout.split())
    assert "a: krr(k=9) at eps0 = 1.0, fresh, 1 a day, on 2024-02-27 only." in text
    assert "b: krr(k=2) at eps0 = 2.0, fresh, 1 a day, on 2024-02-29 only." in text
    assert "c: krr(k=2) at eps0 = 2.0, fresh, 1 a day." in text
    claims = json.loads((tmp_path / "c.json").read_text())
    assert [(x["n"], x.get("rounds", 1)) for x in claims] == [(27000, 1), (29000, 1), (24000, 6)]
    rows = list(csv.DictReader((tmp_path / "r.csv").open()))
    left = [float(row["without_shuffler"]) for row in rows]
    assert left == [2, 4, 6, 9, 11, 15]
    found = json.loads(succeed(*command, "--json").stdout)
    assert found["deployment"]["reports"]["b"]["dates"] == ["2024-02-29"]
    assert [x["shuffles"] for x in found["reports"].values()] == [1, 1, 6]
    (tmp_path / "days.csv").write_text("\n".join(["date,n", *days, "2024-03-01,1000"]))
    text = " ".join(succeed(*command, "--explain").stdout.split())
    assert "1 a day, on 2 of 7 days from 2024-02-27 to 2024-03-01." in text


def test_a_report_that_the_second_program_cannot_prove_has_no_claim(asked, tmp_path):
    """The others have theirs; numbers that are rounded to 0 or 1 are 0 or 1."""
    reports = {
        f"steps{steps}": {
            "mechanism": {"type": "laplace", "domain": "rounded", "steps": steps},
            "eps0": 1,
            "answers": "fresh",
        }
        for steps in (1, 2)
    }
    (tmp_path / "deployment.json").write_text(json.dumps({"reports": reports}))
    text = " ".join(succeed(*asked, "--claim", "claim.json").stdout.split())
    [claim] = json.loads((tmp_path / "claim.json").read_text())
    assert (claim["mechanism"], claim["eps0"], claim["n"]) == ("laplace", 1.0, 20000)
    plain = sb.compose([(sb.Laplace(1.0).blanket(), 20000, 2)]).epsilon(0.5e-6)
    assert claim["eps"] == pytest.approx(plain.upper, rel=1e-3)
    assert claim["eps"] >= plain.lower
    assert "steps2 has no claim, since verify/verify.py does not define Laplace(" in text
    assert re.search(r"epsilon = [\d.]+ for all reports but steps2 by basic composition", text)


def test_claims_that_the_second_program_cannot_prove_are_refused_at_once(asked, tmp_path):
    for entry in ({"mechanism": {"type": "piecewise"}, "eps0": 1, "answers": "fresh"},):
        (tmp_path / "deployment.json").write_text(json.dumps({"reports": {"speed": entry}}))
        result = run(*asked, "--claim", "claim.json")
        assert result.exit_code == 2
        assert "--claim needs a report that verify/verify.py defines" in result.stderr
        assert "speed: verify/verify.py does not define Piecewise" in result.stderr
        assert not (tmp_path / "claim.json").exists()


def test_progress_is_shown_on_a_terminal_only(asked):
    assert succeed(*asked).stderr == ""
    shown = run_in_terminal(*asked, "--running", "r.csv", with_errors=True)
    assert "computing 1 of 4: losses of rounds" in shown
    assert "computing 2 of 2: epsilon of days" in shown
