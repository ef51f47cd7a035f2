"""How answers are printed: tables that fit the terminal, aligned numbers, and grouped help."""

import csv
import io
import re

import pytest
from commands import answer, run, run_in_terminal, succeed
from hypothesis import given
from hypothesis import strategies as st

from shufflebounds import cli
from shufflebounds.cli.options import COVER, OUTPUT, PARAMETERS, REQUIRED, SENT
from shufflebounds.cli.reply import Reply
from shufflebounds.cli.tables import aligned, table_lines

KRR = ("--mechanism", "krr", "--k", "10")
USERS = ("--eps0", "4", "--n", "10000")
TARGET = ("--eps", "0.5", "--delta", "1e-6")
QUESTIONS = {
    "epsilon": (*KRR, *USERS, "--delta", "1e-6"),
    "delta": (*KRR, *USERS, "--eps", "0.4"),
    "renyi": (*KRR, *USERS, "--order", "16"),
    "check": (*KRR, *USERS, *TARGET),
    "risk": (*KRR, *USERS),
    "eps0": (*KRR, "--n", "10000", *TARGET),
    "users": (*KRR, "--eps0", "4", *TARGET),
    "rounds": (*KRR, "--eps0", "2", "--n", "10000", *TARGET),
    "mechanisms": (),
    "bounds": (),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_fits_the_terminal(name, monkeypatch):
    for more in ((), ("--explain",)):
        if more and name in ("mechanisms", "bounds"):
            continue
        for width in (70, 80):
            monkeypatch.setenv("COLUMNS", str(width))
            text = succeed(name, *QUESTIONS[name], *more).stdout
            assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("name", ["epsilon", "delta", "renyi", "eps0", "users", "rounds", "risk"])
def test_an_answer_is_the_numbers_and_what_may_be_claimed(name):
    paragraphs = succeed(name, *QUESTIONS[name]).stdout.strip().split("\n\n")
    assert len(paragraphs) <= 4
    _, claim, table, *hint = paragraphs
    assert claim.startswith("You can") or claim.endswith("remains.")
    assert "blanket" in re.sub(r"\s+", " ", table) or name == "risk"
    assert hint in ([], ["Use --explain to see the assumptions."])
    explained = succeed(name, *QUESTIONS[name], "--explain").stdout
    assert "blanket: " in explained


@given(st.lists(st.floats(0.0, 1e6).map(lambda x: f"{x:.6g}"), min_size=1))
def test_decimal_points_stand_below_each_other(numbers):
    cells = aligned([*numbers, ""])
    heads = [re.match(r" *\d+", cell)[0] for cell in cells if cell]
    assert len({len(head) for head in heads}) == 1
    assert [cell.strip() for cell in cells] == [*numbers, ""]
    assert len({len(cell) for cell in cells if cell}) == 1


def test_headings_of_numbers_stand_on_the_right_of_their_column():
    table = {
        "name": ["a", "b"],
        "users of it": ["9", "12 (exact)"],
        "": ["15.5 %", "0.25 %"],
        "text": ["9 lives", ""],
    }
    assert [f"{line}|" for line in table_lines(table, 80)] == [
        "  name  users of it           text|",
        "  a       9          15.5 %   9 lives|",
        "  b      12 (exact)   0.25 %|",
    ]


def test_a_table_is_broken_between_words():
    table = {
        "": ["a long label of a row", "b"],
        "number of something": ["1.5", "10.25"],
        "text": ["some words", "x"],
        "more": ["1", "2"],
    }
    for width in range(40, 80):
        lines = table_lines(table, width)
        assert max(map(len, lines)) <= width
        words = set(" ".join(lines).split())
        assert {"label", "something", "1.5", "10.25", "words", "more"} <= words


def test_warnings_are_printed_and_notes_wait_for_explain():
    reply = Reply(title="t", notes=["One. Two.", "Careful. More."], warnings=["Careful. More."])
    assert reply.lines(cli.reply.Output()) == [
        *("t", "", "Careful.", "", "Use --explain to see the assumptions.")
    ]
    explained = reply.lines(cli.reply.Output(explain=True))
    assert explained == ["t", "", "One. Two.", "", "Careful. More."]


def test_what_may_be_claimed_stands_out_in_a_terminal_and_only_there():
    asked = ("epsilon", *QUESTIONS["epsilon"])
    plain = succeed(*asked).stdout
    claim = re.search(r"You can claim epsilon = \S+\.", plain)[0]
    assert run_in_terminal(*asked) == plain.replace(claim, f"\x1b[1m{claim}\x1b[0m")
    for setting in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert run_in_terminal(*asked, **setting) == plain
    verdict = run_in_terminal("check", *QUESTIONS["check"])
    assert "\x1b[32m\x1b[1mPROVEN.\x1b[0m You can claim it" in verdict


def test_a_claim_that_takes_two_lines_stands_out_to_its_end():
    sentence = " ".join(["word"] * 30) + "."
    lines = "\n".join(Reply(claim=[sentence, "More."]).lines(cli.reply.Output()))
    bold, rest = lines.removeprefix("\x1b[1m").split("\x1b[0m")
    assert (" ".join(bold.split()), rest) == (sentence, " More.")


def test_a_curve_is_a_short_table_in_a_terminal_and_csv_elsewhere():
    asked = ("curve", *KRR, "--eps0", "4", "--delta", "1e-6", "--bound", "clone")
    printed = run_in_terminal(*asked, "--points", "31", "--quantity", "epsilon")
    title, _, heading, *rows = printed.splitlines()
    assert title.startswith("11 of 31 points, one user replaced; -o FILE")
    assert heading.split() == ["n", "clone"]
    table = list(csv.DictReader(io.StringIO(succeed(*asked, "--points", "31").stdout)))
    assert [row.split()[0] for row in rows] == [table[3 * i]["n"] for i in range(11)]
    for i, row in enumerate(rows):
        upper = float(table[3 * i]["epsilon_upper"])
        assert upper <= float(row.split()[1]) <= upper * (1 + 1e-5)


def test_a_terminal_is_told_which_files_were_written(tmp_path):
    path = tmp_path / "c.csv"
    asked = ("curve", *KRR, "--eps0", "4", "--delta", "1e-6", "--bound", "clone", "--points", "2")
    printed = run_in_terminal(*asked, "-o", path, with_errors=True)
    assert f"Wrote{path}." in "".join(printed.split())
    assert path.read_text(encoding="utf-8") == succeed(*asked).stdout
    assert "Wrote" not in succeed(*asked, "-o", path).output


def test_help_is_grouped():
    text = succeed("epsilon", "-h").stdout
    places = [text.index(f"\n{section}:\n") for section in (REQUIRED, COVER, SENT, OUTPUT)]
    assert places == sorted(places)
    parts = [text[start:end] for start, end in zip(places, [*places[1:], None], strict=True)]
    for flag, part in (("--delta", 0), ("--dropout", 1), ("--k-joint", 2), ("--json", 3)):
        assert [f"  {flag} " in each for each in parts] == [i == part for i in range(4)]
    text = succeed("epsilon", "krr", "-h").stdout
    places = [text.index(f"\n{part}") for part in (REQUIRED, f"{PARAMETERS} of krr:", COVER)]
    assert places == sorted(places)


@pytest.mark.parametrize(("eps", "is_noted"), [("0.2", True), ("2", False)])
def test_a_delta_above_one_in_n_is_noted_where_it_is_the_answer(eps, is_noted):
    asked = ("delta", *KRR, "--eps0", "4", "--n", "1000", "--eps", eps)
    exact = answer(*asked)
    assert (exact["best"]["upper"] > 1e-3) == is_noted
    (number,) = re.findall(r"You can claim delta = (\S+)\. ", succeed(*asked).stdout)
    said = f"delta = {number} is above 1/n and protects nobody"
    for text in (run(*asked).stdout, " ".join(exact["notes"])):
        assert (said in " ".join(text.split())) == is_noted
