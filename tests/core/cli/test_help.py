"""The help agrees with the program, and with itself."""

import re

import click
import pytest
from commands import run, succeed

from shufflebounds import cli
from shufflebounds.cli import catalogue
from shufflebounds.core import validation

COMMANDS = [*cli.main.commands]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_names_only_options_that_the_command_has(name):
    command = cli.main.commands[name]
    own = {flag for parameter in command.params for flag in parameter.opts} | {"--help"}
    # Options of other commands stand in code, such as `shufflebounds epsilon --claim`.
    text = re.sub(r"`[^`]*`", "", succeed(name, "-h").stdout)
    assert set(re.findall(r"(?<!\S)[(\[]?(--[a-z][\w-]*)", text)) <= own


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_says_the_default_width_once(name):
    options = {parameter.name: parameter for parameter in cli.main.commands[name].params}
    introduction = " ".join(cli.main.commands[name].help.split())
    assert not re.search(r"default[^.]*--rtol|--rtol[^.]*default", introduction)
    if "rtol" in options:
        context = click.Context(cli.main.commands[name])
        assert options["rtol"].get_help_record(context)[1].count("default") == 1


def test_the_help_of_arguments_is_not_among_the_options():
    text = succeed("mechanisms", "-h").stdout
    assert "[NAME]" in text.splitlines()[0]
    assert text.count("[NAME]") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_takes_at_most_fifty_five_lines(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = succeed(name, "-h").stdout.splitlines()
    assert len(lines) <= (45 if name == "epsilon" else 55)
    assert max(map(len, lines)) <= 80
    assert not any("of the answer" in line for line in lines)


def test_the_first_help_is_one_screen(monkeypatch):
    """Each command takes one line, in a group that says what it is for."""
    monkeypatch.setenv("COLUMNS", "80")
    text = succeed("-h").stdout
    assert len(text.splitlines()) <= 35
    listed = re.findall(r"^  (\w+) {2,}(\S.*)$", text, re.MULTILINE)
    assert [name for name, _ in listed] == COMMANDS
    for name, summary in listed:
        assert cli.main.commands[name].help.startswith(summary)
    assert succeed("help").stdout == text
    assert succeed("help", "epsilon").stdout == succeed("epsilon", "--help").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_and_usage_are_right(name, monkeypatch):
    """An example parses, and the usage has every option that it lacks when one is left out."""
    monkeypatch.setenv("COLUMNS", "200")
    command = cli.main.commands[name]
    example, *_ = re.findall(rf"shufflebounds {name} (.*)", command.help)
    context = command.make_context(name, example.split(), resilient_parsing=True)
    usage = succeed(name, "-h").stdout.splitlines()[0]
    for parameter in command.params:
        if parameter.required and parameter.opts[0].startswith("-"):
            assert any(f"{flag} " in usage for flag in parameter.opts)
            assert context.params[parameter.name] is not None


@pytest.mark.parametrize(
    "given",
    [("local_hash",), ("--mechanism", "local_hash"), ("-m=Local-Hash",), ("--protocol", "dump")],
)
def test_the_help_has_the_parameters_of_what_is_named(given):
    assert "`krr -h` lists those of krr" in " ".join(succeed("epsilon", "-h").stdout.split())
    assert "Parameters of" not in succeed("epsilon", "-h").stdout
    for text in (succeed("epsilon", *given, "-h").stdout, succeed("epsilon", "-h", *given).stdout):
        assert ("Parameters of local_hash:" in text) == ("dump" not in given)
        assert ("Parameters of dump:" in text) == ("dump" in given)
        assert ("  --hash-values INT, optional" in text) == ("dump" not in given)
        assert ("  --flip FLOAT, optional" in text) == ("dump" in given)


def test_a_mechanism_without_parameters_has_none():
    assert "Parameters of duchi:\n  none\n" in succeed("risk", "--mechanism", "duchi", "-h").stdout


def test_a_parameter_without_help_has_no_colon(monkeypatch):
    monkeypatch.setattr(catalogue, "usages", lambda _: [("--letters INT, required", "")])
    lines = succeed("mechanisms", "krr").stdout.splitlines()
    assert "  --letters INT, required" in lines


def test_an_epsilon_that_protects_nobody_is_called_so():
    asked = ("--mechanism", "krr", "--k", "10", "--n", "100", "--delta", "1e-6")
    said = "protects nobody: an attacker may be certain of a user's value"
    assert said in " ".join(succeed("epsilon", *asked, "--eps0", "15").stdout.split())
    assert said not in " ".join(succeed("epsilon", *asked, "--eps0", "4").stdout.split())
    checked = run("check", *asked, "--eps0", "15", "--eps", "11").stdout
    assert f"epsilon = 11.0 {said}" in " ".join(checked.split())


def test_where_two_datasets_rule_out_every_epsilon_nothing_else_is_said(tmp_path):
    file = tmp_path / "identity.csv"
    file.write_text("1, 0\n0, 1\n", encoding="utf-8")
    asked = ("--mechanism", "matrix", "--file", file, "--n", "100", "--delta", "1e-6")
    text = succeed("epsilon", *asked).stdout
    assert "Two datasets rule out every epsilon at this delta." in text
    assert "is known to hold" not in text


def test_a_larger_rtol_is_advised_only_where_one_is_allowed():
    assert validation.rtol_advice(0.05) == "; a larger rtol would help"
    assert validation.rtol_advice(1.0) == ""
    assert validation.rtol_advice(1.0, "more cells") == "; more cells would help"
    assert validation.rtol_advice(0.1, "more cells").count(" or ") == 1


def test_a_sum_is_printed_as_people_write_it(tmp_path):
    file = tmp_path / "sum.csv"
    file.write_text("0.2, 0.7\n0.5, 0.5\n", encoding="utf-8")
    asked = ("--mechanism", "matrix", "--file", file, "--n", "100", "--delta", "1e-6")
    assert "must sum to 1, got 0.9" in run("epsilon", *asked).stderr
    assert "0.89999" not in run("epsilon", *asked).stderr
