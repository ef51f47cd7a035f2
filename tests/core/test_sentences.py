"""A wrong number is refused in the same sentence at every door, but for how the door spells it."""

import pytest
from commands import run
from pydantic import ValidationError

import shufflebounds as sb
from reproduction.configuration.models import CurveEntry, SettingEntry
from reproduction.configuration.sentences import first_sentence
from shufflebounds.core import validation
from shufflebounds.core.setting import NUMBERS, Axis

OTHERS = (validation.DROPOUT, validation.COLLUDING, validation.K_JOINT)
FIELDS = NUMBERS | {x.name: x for x in (*OTHERS, validation.RATE, validation.COHORT)}
# Wrong values, and what is said of them.
WRONG = [
    ("n", 0, "an integer from 1 to 1e15, got 0"),
    ("n", 1000.5, "an integer from 1 to 1e15, got 1000.5"),
    ("n", "many", "an integer from 1 to 1e15, got 'many'"),
    ("eps0", 301, "a finite number with 0 < eps0 <= 300, got 301"),
    ("eps0", "high", "a finite number with 0 < eps0 <= 300, got 'high'"),
    ("eps", -0.5, "a finite number with eps >= 0, got -0.5"),
    ("delta", 1, "a finite number with 1e-300 <= delta < 1, got 1"),
    ("order", 1, "a finite number with 1 < order <= 1000000, got 1"),
    ("rounds", 0, "an integer from 1 to 1000000, got 0"),
    ("noise_multiplier", 0.1, "a finite number with 0.2 <= noise_multiplier <= 1000, got 0.1"),
    ("dropout", 1, "a finite number with 0 <= dropout < 1, got 1"),
    ("dropout", "5%", "a finite number with 0 <= dropout < 1, got '5%'; for 5 % write 0.05"),
    ("dropout", 5, "a finite number with 0 <= dropout < 1, got 5; for 5 % write 0.05"),
    ("colluding", -1, "an integer from 0 to 1e15, got -1"),
    ("k_joint", 101, "an integer from 1 to 100, got 101"),
    ("rate", 1.5, "a finite number with 0 <= rate <= 1, got 1.5; for 1.5 % write 0.015"),
    ("cohort", 0, "an integer from 1 to 1e15, got 0"),
]
REPORT = {"mechanism": {"type": "krr", "k": 4}, "eps0": 1.0, "answers": "fresh"}
# The commands with an option that `epsilon` does not have, and what else they need.
COMMANDS = {"order": ("renyi",), "eps": ("delta",)}


def deployed(changes, report):
    sb.Deployment({"users": 100, "days": 1, "reports": {"a": {**REPORT, **report}}, **changes})


def at_the_command_line(name, value):
    command = COMMANDS.get(name, ("epsilon",))
    result = run(*command, "krr", f"--{name.replace('_', '-')}={value}")
    assert result.exit_code == 2
    raise ValueError(result.stderr.removeprefix("Error: ").removesuffix("\n"))


def in_a_configuration(name, value):
    model, content = (SettingEntry, {}) if name in NUMBERS else (CurveEntry, {"bound": "blanket"})
    try:
        model.model_validate({**content, name: value})
    except ValidationError as error:
        raise ValueError(first_sentence(error)) from None


def in_a_deployment(name, value):
    changes = {"users" if name == "n" else name: value}
    is_of_report = name in ("eps0", "rate", "cohort")
    deployed({} if is_of_report else changes, changes if is_of_report else {})


# The doors, what a number is called there, and which of the fields they have.
DOORS = {
    "check": (lambda name, value: FIELDS[name].check(value), "{}", FIELDS),
    "axis": (lambda name, value: Axis(name, (value,)), "{}[0]", NUMBERS),
    "command line": (
        at_the_command_line,
        "--{}",
        [name for name in FIELDS if name not in ("noise_multiplier", "target", "messages")],
    ),
    "configuration": (in_a_configuration, "{}", [*NUMBERS, "k_joint"]),
    "deployment": (in_a_deployment, "{}", ["n", "eps0", "rate", "cohort", "dropout", "colluding"]),
}


@pytest.mark.parametrize(("name", "value", "allowed"), WRONG)
@pytest.mark.parametrize("door", DOORS)
def test_a_wrong_number_is_refused_in_one_sentence(door, name, value, allowed):
    refuse, spelling, fields = DOORS[door]
    if name not in fields:
        pytest.skip("the door has no such field")
    with pytest.raises(ValueError, match=r".") as error:
        refuse(name, value)
    called = spelling.format(name.replace("_", "-") if door == "command line" else name)
    if door == "deployment":
        called = "users" if name == "n" else called
        called = f"reports.a.{called}" if name in ("eps0", "rate", "cohort") else called
    sentence = str(error.value).split("; {over_n")[0]
    assert sentence == f"{called} must be {allowed}"


@pytest.mark.parametrize("name", FIELDS)
def test_every_number_says_what_it_is(name):
    number = FIELDS[name]
    assert number.name == name
    assert number.meaning[0].islower()
    assert not number.meaning.endswith(".")


@pytest.mark.parametrize(
    ("text", "number"), [("1e5", 100_000), (" 100_000 ", 100_000), (1e5, 100_000)]
)
def test_a_number_of_users_may_be_written_as_people_do(text, number):
    assert validation.N.parse(text) == number
    assert isinstance(validation.N.parse(text), int)


def test_a_number_that_no_float_holds_is_refused():
    with pytest.raises(
        ValueError, match=r"^--eps must be a number that a float holds exactly, got"
    ):
        validation.EPS.parse("0.10000000000000000001", "--eps")
    assert validation.EPS.parse("0.1") == 0.1
