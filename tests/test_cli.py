"""The console command: its numbers, how they are rounded, and one sentence for every mistake."""

import csv
import io
import json
import math
import os
import pty
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from shufflebounds import Enclosure, PrecisionError, __version__, cli, curves, randomizers
from shufflebounds.randomizers.krr import KRR

ROOT = Path(__file__).parents[1]

KRR10 = ("--mechanism", "krr", "--k", "10")
# Its divergence at ε = 0.4 and n = 10⁴ by another program, to the digits given.
AT_4 = (*KRR10, "--eps0", "4", "--n", "10000")
DIVERGENCE = 4.15804652e-7


def run(*args: str) -> Result:
    return CliRunner().invoke(cli.main, args)


def succeed(*args: str) -> Result:
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result


def answer(*args: str) -> dict:
    return json.loads(succeed(*args, "--json").stdout)


def value(text: str, label: str) -> Decimal:
    """The number printed in the row of a label."""
    (row,) = (line for line in text.splitlines() if line.strip().startswith(label))
    return Decimal(row.strip().removeprefix(label).split()[0])


def holds(enclosure: dict, truth: float, tolerance: float = 1e-8) -> bool:
    lower, upper = enclosure["lower"], enclosure["upper"]
    return lower * (1 - tolerance) <= truth <= upper * (1 + tolerance)


# Answers.


def test_epsilon_inverts_a_known_divergence():
    found = answer("epsilon", *AT_4, "--delta", repr(DIVERGENCE), "--rtol", "1e-7")
    assert holds(found["upper_bound"], 0.4)
    assert found["upper_bound"]["upper"] <= 0.4 * (1 + 1.2e-7)
    assert found["lower_bound"]["lower"] < found["upper_bound"]["lower"]
    assert found["precise"] is True


def test_delta_is_a_known_divergence():
    found = answer("delta", *AT_4, "--eps", "0.4")
    assert holds(found["upper_bound"], DIVERGENCE)


def test_the_clone_is_binary_randomized_response_for_one_user():
    found = answer("delta", *KRR10, "--eps0", "2", "--n", "1", "--eps", "0.5")
    clone = (math.exp(2.0) - math.exp(0.5)) / (math.exp(2.0) + 1.0)
    blanket = (math.exp(2.0) - math.exp(0.5)) / (math.exp(2.0) + 9.0)
    assert holds(found["clone"], clone, 1e-12)
    assert holds(found["upper_bound"], blanket, 1e-12)
    assert holds(found["lower_bound"], blanket, 1e-12)


def test_eps0_inverts_a_known_divergence():
    target = ("--n", "1e4", "--eps", "0.4", "--delta", repr(DIVERGENCE))
    found = answer("eps0", *KRR10, *target)
    assert holds(found["upper_bound"], 4.0)
    assert found["clone"]["lower"] < found["upper_bound"]["lower"] < found["lower_bound"]["upper"]
    confirmed = answer(
        "epsilon", *KRR10, "--eps0", repr(found["upper_bound"]["lower"]), *target[:2], *target[4:]
    )
    assert confirmed["upper_bound"]["upper"] <= 0.4


def test_users_invert_a_known_divergence():
    options = (*KRR10, "--eps0", "4", "--eps", "0.4", "--delta")
    assert answer("users", *options, repr(DIVERGENCE * (1 + 1e-8)))["upper_bound"] == {
        "lower": 10_000,
        "upper": 10_000,
    }
    assert answer("users", *options, repr(DIVERGENCE * (1 - 1e-8)))["upper_bound"] == {
        "lower": 10_001,
        "upper": 10_001,
    }


def test_the_parts_of_a_joint_share_eps0():
    """At n = 1 two reports hide nothing: D(ε) is that of products of the channel's rows."""
    rows = KRR(k=10, eps0=1.0).matrix()[:2]
    pairs = [(a * c, b * d) for a, b in rows.T for c, d in rows.T]
    truth = sum(max(0.0, a - math.exp(0.3) * b) for a, b in pairs)
    joint = (*KRR10, "--eps0", "2", "--k-joint", "2")
    found = answer("delta", *joint, "--n", "1", "--eps", "0.3")
    assert holds(found["upper_bound"], truth, 1e-12)
    assert found["k_joint"] == 2
    assert "2 reports together, each at eps0/2" in found["notes"][0]


def test_json_has_these_keys():
    found = answer("epsilon", *AT_4, "--delta", "1e-6")
    assert list(found) == [
        "version",
        "mechanism",
        "parameters",
        "k_joint",
        "eps0",
        "n",
        "delta",
        "upper_bound",
        "lower_bound",
        "clone",
        "precise",
        "notes",
    ]
    assert found["version"] == __version__
    assert found["parameters"] == {"k": 10}
    assert (found["mechanism"], found["eps0"], found["n"]) == ("krr", 4.0, 10_000)


def test_infinity_is_null_in_json_and_explained_to_people():
    options = (*KRR10, "--eps0", "4", "--eps", "0", "--delta", "1e-9")
    assert answer("users", *options)["upper_bound"] == {"lower": 10**15 + 1, "upper": None}
    text = succeed("users", *options).stdout
    assert "not even 10^15 users are known to be enough" in text


@pytest.mark.parametrize("command", ["epsilon", "delta", "eps0", "users"])
def test_text_says_what_is_bounded_in_which_unit(command):
    options = {
        "epsilon": (*AT_4, "--delta", "1e-6"),
        "delta": (*AT_4, "--eps", "0.4"),
        "eps0": (*KRR10, "--n", "1e4", "--eps", "0.4", "--delta", "1e-6"),
        "users": (*KRR10, "--eps0", "4", "--eps", "0.4", "--delta", "1e-6"),
    }[command]
    text = succeed(command, *options).stdout
    units = {"epsilon": "natural log", "delta": "probability", "eps0": "natural log"}
    assert units.get(command, "users") in text
    assert "KRR(k=10" in text
    assert "clone, for comparison" in text
    assert "relative width" in text
    rows = [line for line in text.splitlines() if line.startswith("  ")]
    assert len({re.search(r"\S {2,}\S", row.rstrip()).end() for row in rows[1:]}) == 1


def test_laplace_says_what_is_not_proved():
    options = ("--mechanism", "laplace", "--eps0", "1", "--n", "1e4", "--delta", "1e-6")
    (note,) = answer("epsilon", *options)["notes"]
    assert "nobody has proved that this pair is the worst" in note
    assert "nobody has proved that" in randomizers.mechanism("laplace").__doc__
    assert "nobody has proved" in succeed("epsilon", *options).stdout.replace("\n", " ")


# Rounding.


@settings(deadline=None)
@given(st.floats(min_value=0.0, allow_nan=False, allow_infinity=False))
def test_what_is_printed_is_on_the_safe_side_and_close(number):
    up, down = (Decimal(cli._outward(number, up=up)) for up in (True, False))
    assert down <= Decimal(number) <= up
    assert up - down <= Decimal(number) * Decimal("1.0001e-5")


@settings(deadline=None)
@given(st.floats(0.0, 1e300), st.floats(0.0, 1.0))
def test_a_width_is_rounded_up(upper, ratio):
    found = Enclosure(upper * ratio, upper)
    printed = cli._width(found).removesuffix(" (exact)")
    assert Decimal(printed) >= Decimal(found.relative_width)


def test_printed_bounds_are_bounds():
    options = (*AT_4, "--delta", "1e-6")
    text, exact = succeed("epsilon", *options).stdout, answer("epsilon", *options)
    claimed = value(text, "may be claimed")
    certain = value(text, "no analysis can claim less")
    assert Decimal(exact["upper_bound"]["upper"]) <= claimed
    assert claimed <= Decimal(exact["upper_bound"]["upper"]) * Decimal("1.00001")
    assert Decimal(exact["lower_bound"]["lower"]) >= certain
    assert Decimal(exact["clone"]["upper"]) <= value(text, "clone, for comparison")


def test_a_printed_eps0_may_be_deployed():
    options = (*KRR10, "--n", "1e4", "--eps", "0.4", "--delta", "1e-6")
    text, exact = succeed("eps0", *options).stdout, answer("eps0", *options)
    assert value(text, "may be deployed") <= Decimal(exact["upper_bound"]["lower"])
    assert value(text, "misses the target for certain") >= Decimal(exact["lower_bound"]["upper"])


# Precision.


@pytest.fixture
def vague(monkeypatch):
    def fails(*_, **__):
        raise PrecisionError("known only roughly", Enclosure(0.25, 0.5))

    for name in ("epsilon", "delta"):
        monkeypatch.setattr(f"shufflebounds.amplification.{name}", fails)


@pytest.mark.parametrize(
    ("command", "target"), [("epsilon", ("--delta", "0.1")), ("delta", ("--eps", "1"))]
)
@pytest.mark.usefixtures("vague")
def test_a_wide_enclosure_is_printed_and_reported(command, target):
    text = run(command, *AT_4, *target)
    assert text.exit_code == cli.IMPRECISE
    assert value(text.stdout, "may be claimed") == Decimal("0.5")
    assert text.stderr.startswith("Error: ")
    assert "known only roughly" in text.stderr
    found = json.loads(run(command, *AT_4, *target, "--json").stdout)
    assert found["upper_bound"] == {"lower": 0.25, "upper": 0.5}
    assert found["precise"] is False


@pytest.mark.usefixtures("vague")
def test_a_curve_that_is_not_precise_says_where(tmp_path):
    path = tmp_path / "curve.csv"
    result = run("curve", *KRR10, "--eps0", "4", "--delta", "1e-6", "-o", str(path))
    assert result.exit_code == cli.IMPRECISE
    assert re.fullmatch(r"Error: known only roughly, in curve .* at n = 1000\n", result.stderr)
    assert not path.exists()


# Curves.

CURVE = ("curve", *KRR10, "--eps0", "4", "--delta", "1e-6", "--start", "1e3", "--stop", "1e4")


def test_a_curve_is_the_table_of_the_library():
    result = succeed(*CURVE, "--points", "11", "--bound", "lower", "--bound", "blanket_bennett")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert tuple(rows[0]) == curves.COLUMNS
    assert [row["bound"] for row in rows] == ["lower"] * 11 + ["blanket_bennett"] * 11
    for bound in ("lower", "blanket_bennett"):
        spec = {
            "experiment": "any",
            "regime": "any",
            "curve": "any",
            "mechanism": {"type": "krr", "k": 10},
            "eps0": 4.0,
            "delta": 1e-6,
            "bound": bound,
            "n": {"start": 1000, "stop": 10_000, "points": 11},
            "engine": "saddle",
            "rtol": 1e-4,
        }
        mine = [row for row in rows if row["bound"] == bound]
        theirs = curves.compute(spec)
        assert [int(row["n"]) for row in mine] == theirs["n"].tolist()
        for end in ("epsilon_lower", "epsilon_upper"):
            assert [float(row[end]) for row in mine] == theirs[end].tolist()


def test_a_curve_is_written_and_drawn(tmp_path):
    table, plot = tmp_path / "curve.csv", tmp_path / "curve.png"
    result = succeed(*CURVE, "--points", "3", "-o", str(table), "--plot", str(plot))
    assert result.output == ""
    assert set(curves.read(table)["bound"]) == {"upper", "lower", "clone"}
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_every_bound_can_be_asked_for_and_drawn(tmp_path):
    assert curves.BOUNDS == cli.BOUNDS
    bounds = [part for bound in cli.BOUNDS for part in ("--bound", bound)]
    plot = tmp_path / "curve.pdf"
    result = succeed(*CURVE, "--points", "2", *bounds, "--plot", str(plot))
    assert len(result.stdout.splitlines()) == 1 + 2 * len(cli.BOUNDS)
    assert plot.read_bytes().startswith(b"%PDF")


def test_a_curve_of_laplace_keeps_its_caveat_out_of_the_table():
    options = ("--mechanism", "laplace", "--eps0", "0.5", "--delta", "1e-6")
    result = succeed("curve", *options, "--start", "1e4", "--stop", "1e4", "--points", "1")
    assert "nobody has proved" in result.stderr
    assert "nobody has proved" not in result.stdout


# Mechanisms.


def test_mechanisms_are_listed_with_their_parameters():
    listed = {entry["name"]: entry for entry in json.loads(succeed("mechanisms", "--json").stdout)}
    assert list(listed) == randomizers.mechanism_names()
    assert listed["krr"]["parameters"] == {"k": {"type": "int", "required": True, "default": None}}
    assert listed["rappor"]["parameters"]["domain_size"]["required"] is False
    text = succeed("mechanisms").stdout
    for name, entry in listed.items():
        assert re.search(rf"^{name} +{re.escape(entry['description'])}$", text, re.MULTILINE)
    assert re.search(r"^ +--k INT, required$", text, re.MULTILINE)


@pytest.mark.parametrize("name", randomizers.mechanism_names())
def test_every_parameter_of_a_mechanism_is_an_option(name):
    own = {field.name for field in fields(randomizers.mechanism(name))} - {"eps0"}
    given = [part for parameter in sorted(own) for part in (cli._flag(parameter), "5")]
    options = ("--mechanism", name, *given, "--eps0", "1", "--n", "100", "--delta", "1e-3")
    assert answer("epsilon", *options)["parameters"] == dict.fromkeys(own, 5)


@dataclass(frozen=True)
class Coin(KRR):
    """A mechanism that the command has never heard of."""

    bias: float | None = None


def test_a_new_mechanism_needs_no_edit_of_the_command(monkeypatch):
    monkeypatch.setattr(randomizers, "mechanism_names", lambda: ["coin"])
    monkeypatch.setattr(randomizers, "mechanism", lambda _: Coin)
    command = click.command()(cli._of_a_mechanism(lambda report: click.echo(report.part(1.0))))
    options = ["--mechanism", "coin", "--k", "2", "--bias", "0.25"]
    result = CliRunner().invoke(command, options)
    assert result.stdout == "Coin(k=2, eps0=1.0, bias=0.25)\n"


# Mistakes.

GOOD = {"--mechanism": "krr", "--k": "10", "--eps0": "4", "--n": "100", "--delta": "1e-6"}


def options(**changes: str | None) -> list[str]:
    """Good options of `epsilon` with some changed, or left out (None)."""
    changed = GOOD | {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    return [part for pair in changed.items() if pair[1] is not None for part in pair]


@pytest.mark.parametrize("text", ["100000", "100_000", "1e5", "1E5", "1.0e+5", "100000.0"])
def test_ways_to_write_a_number_of_users(text):
    assert answer("epsilon", *options(n=text))["n"] == 100_000


MISTAKES = {
    "an unknown command": (["epsilom"], "did you mean 'epsilon'"),
    "an unknown option": (["epsilon", *options(), "--domain", "3"], "no such option '--domain'"),
    "an extra argument": (["epsilon", *options(), "now"], "unexpected extra argument"),
    "no mechanism": (["epsilon", *options(mechanism=None)], "missing option '--mechanism'"),
    "no eps0": (["epsilon", *options(eps0=None)], "missing option '--eps0'"),
    "a misspelt mechanism": (["epsilon", *options(mechanism="rapor")], "did you mean rappor"),
    "an unknown mechanism": (["epsilon", *options(mechanism="x")], "is not one of blh, hadamard"),
    "no parameter": (["epsilon", *options(k=None)], "krr needs --k"),
    "another's parameter": (
        ["epsilon", *options(domain_size="5")],
        "--domain-size is no parameter of krr, which has only --k",
    ),
    "a bad parameter": (["epsilon", *options(k="1")], "k must be an integer >= 2, got 1"),
    "a fractional parameter": (["epsilon", *options(k="2.5")], "'2.5' is not a whole number"),
    "no whole n": (["epsilon", *options(n="1000.5")], "'1000.5' is not a whole number"),
    "no number n": (["epsilon", *options(n="many")], "'many' is not a whole number"),
    "NaN users": (["epsilon", *options(n="nan")], "'nan' is not a whole number"),
    "infinite users": (["epsilon", *options(n="inf")], "'inf' is not a whole number"),
    "no users": (["epsilon", *options(n="0")], "n must be an integer >= 1, got 0"),
    "negative users": (["epsilon", *options(n="-5")], "n must be an integer >= 1, got -5"),
    "too many users": (["epsilon", *options(n="1e16")], "n must be an integer from 1 to 1e+15"),
    "an endless n": (["epsilon", *options(n="1e999999999")], "too large"),
    "no number eps0": (["epsilon", *options(eps0="four")], "'four' is not a valid float"),
    "NaN eps0": (["epsilon", *options(eps0="nan")], "0 < eps0 <= 300, got nan"),
    "zero eps0": (["epsilon", *options(eps0="0")], "0 < eps0 <= 300, got 0.0"),
    "huge eps0": (["epsilon", *options(eps0="301")], "0 < eps0 <= 300, got 301.0"),
    "huge eps0 of a joint": (
        ["epsilon", *options(eps0="301", k_joint="2")],
        "0 < eps0 <= 300, got 301.0",
    ),
    "tiny delta": (["epsilon", *options(delta="1e-301")], "1e-300 <= delta < 1, got 1e-301"),
    "delta of 1": (["epsilon", *options(delta="1")], "1e-300 <= delta < 1, got 1.0"),
    "negative eps": (["delta", *options(delta=None, eps="-1")], "eps >= 0, got -1.0"),
    "no eps for eps0": (["eps0", *options(eps0=None, eps="0")], "0 < eps <= 300, got 0.0"),
    "bad delta for users": (["users", *options(n=None, eps="1", delta="0")], "got 0.0"),
    "no part": (["epsilon", *options(k_joint="0")], "k_joint must be an integer >= 1, got 0"),
    "rtol too fine": (["epsilon", *options(rtol="1e-12")], "rtol"),
    "rtol too coarse": (["curve", *options(n=None, rtol="0.5")], "rtol"),
    "an empty grid": (["curve", *options(n=None, start="10", stop="9")], "stop must be"),
    "too long a grid": (["curve", *options(n=None, stop="1e16")], "stop must be at most 1e+15"),
    "too many points": (["curve", *options(n=None, stop="1001")], "points must be at most 2"),
    "an unknown bound": (["curve", *options(n=None, bound="uper")], "did you mean upper"),
    "no directory": (["curve", *options(n=None, output="/nowhere/x.csv")], "'/nowhere'"),
    "a directory": (["curve", *options(n=None, output="/")], "is a directory"),
    "another format": (["curve", *options(n=None, plot="x.svg")], "must end in .pdf or .png"),
}


@pytest.mark.parametrize(("args", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_ends_in_one_sentence(args, message):
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message.lower() in result.stderr.lower()


def test_a_failed_write_is_a_mistake(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(curves, "write", full)
    result = run(*CURVE, "--points", "2", "-o", str(tmp_path / "curve.csv"))
    assert result.exit_code == 2
    assert re.fullmatch(r"Error: cannot write '.*': No space left on device\n", result.stderr)


def test_the_version_and_the_help():
    assert succeed("--version").stdout.strip() == f"shufflebounds, version {__version__}"
    assert succeed("-h").stdout == succeed("--help").stdout
    for command in cli.main.commands:
        assert "Usage:" in succeed(command, "-h").stdout


# As a program.


def program(*args: str, **settings) -> subprocess.CompletedProcess:
    """The console script, made from its entry in pyproject.toml as an installer would."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, name = project["scripts"]["shufflebounds"].split(":")
    script = f"import sys; from {module} import {name}; sys.exit({name}())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, "-c", script, *args], env=environment, **settings)


def test_the_installed_command_runs():
    done = program("epsilon", *options(), capture_output=True, text=True, check=True)
    assert done.stdout == succeed("epsilon", *options()).stdout
    assert done.stderr == ""


def test_a_mistake_shows_no_traceback():
    done = program("epsilon", *options(n="0"), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: n must be an integer >= 1, got 0\n"


def test_a_single_answer_loads_neither_pandas_nor_matplotlib():
    script = (
        "import sys; from shufflebounds.cli import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "assert not {'pandas', 'matplotlib', 'scipy'} & set(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", script, "epsilon", *options()]
    subprocess.run(command, env=environment, check=True, capture_output=True)


def test_progress_shows_on_a_terminal_only(tmp_path):
    args = (*CURVE, "--points", "2", "-o", str(tmp_path / "curve.csv"))
    assert program(*args, capture_output=True, check=True).stderr == b""
    ours, theirs = pty.openpty()
    try:
        program(*args, stdout=subprocess.PIPE, stderr=theirs, check=True)
        assert b"computing" in os.read(ours, 4096)
    finally:
        os.close(ours)
        os.close(theirs)
