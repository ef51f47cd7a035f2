"""Matrices in CSV files: what they hold, what stands for it, and every mistake in a sentence."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.randomizers import description, matrix_file
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.matrix_file import MatrixFile
from shufflebounds.randomizers.mixed import Subsampled

ROWS = [[0.5, 0.375, 0.125], [0.125, 0.75, 0.125], [0.375, 0.125, 0.5]]
TEXT = "\n".join(",".join(map(repr, row)) for row in ROWS) + "\n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(TEXT)
    return path


def test_a_file_is_the_matrix_that_it_holds(path):
    found, matrix = MatrixFile(str(path)), sb.MatrixRandomizer(ROWS)
    np.testing.assert_array_equal(found.matrix(), matrix.matrix())
    assert found.eps0 == matrix.eps0
    assert list(found.blankets()) == list(matrix.blankets())
    assert found.label == "m.csv"
    with pytest.raises(ValueError, match="read-only"):
        found.P[0, 0] = 1.0


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n", "\r\n"),
        TEXT + "\n\n , ,\n",
        "\ufeff" + TEXT,
        TEXT.replace(",", " , "),
        TEXT.replace("0.5", '"5e-1"'),
        TEXT.strip(),
    ],
)
def test_how_numbers_are_written_does_not_matter(path, text):
    digest = MatrixFile(str(path)).digest
    path.write_text(text, encoding="utf-8", newline="")
    assert MatrixFile(str(path)).digest == digest


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("0.5,0.375,0.125", "0.375,0.5,0.125"),
        "0.5,0.5\n0.25,0.75\n",
        "0.5,0.25,0.25\n0.25,0.5,0.25\n0.25,0.25,0.5\n",
    ],
)
def test_other_numbers_have_another_digest(path, text):
    before = MatrixFile(str(path))
    path.write_text(text)
    after = MatrixFile(str(path))
    assert after.digest != before.digest
    assert after != before
    assert MatrixFile(str(path)) == after
    with pytest.raises(ValueError, match=rf"^file '.*' must hold .*{before.digest}, got others"):
        MatrixFile(str(path), before.digest)


def test_the_shape_is_part_of_the_digest(tmp_path):
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("1\n1\n1\n1\n")
    other.write_text("1\n1\n1\n")
    assert MatrixFile(str(one)).digest != MatrixFile(str(other)).digest


MISTAKES = {
    "nothing": ("", "must have at least two rows, one for every input, got 0"),
    "one row": ("0.5,0.5\n", "must have at least two rows, one for every input, got 1"),
    "a ragged row": (
        "0.5,0.5\n0.5,0.25,0.25\n",
        ", line 2 must have as many columns as line 1, which has 2, got 3",
    ),
    "a blank row": ("0.5,0.5\n\n0.5,0.5\n", ", line 2 must have as many columns as line 1"),
    "text": ("0.5,0.5\n0.5,half\n", ", line 2, column 2 must be a probability, .*, got 'half'$"),
    "a comment before it": ("# m\n0.5,0.5\n0.5,half\n", ", line 3, column 2 must .*, got 'half'$"),
    "a negative number": ("1.5,-0.5\n0.5,0.5\n", ", line 1, column 1 must .*, got '1.5'$"),
    "no number": ("0.5,0.5\nnan,0.5\n", ", line 2, column 1 must be .*, got 'nan'$"),
    "infinity": ("0.5,0.5\n0.5,inf\n", ", line 2, column 2 must be .*, got 'inf'$"),
    "a tiny number": ("1,1e-310\n0.5,0.5\n", ", line 1, column 2 must be .*, got '1e-310'"),
    "another sum": ("0.5,0.5\n0.5,0.4\n", ", line 2 must sum to 1, got 0.9$"),
    "an open quote": ('0.5,0.5\n0.5,"0.5\n0.5,0.5', ", line 2, column 2 must be a probability"),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_place(path, text, message):
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"^file '{path}'( |){message}") as caught:
        MatrixFile(str(path))
    assert "\n" not in str(caught.value)


# How people write `ROWS`, or another matrix, and the error for it; None if it is read.
PANDAS = (
    r"line 1 must hold probabilities, got 0.*, 1.*, which looks like the header that pandas "
    r"writes: .*"
)
NAMES = r"line \d.* must .*; delete the column that names or counts the lines"
POINTS = "write decimal points, not commas$"
LAYOUTS = {
    "commas": (TEXT, None),
    "semicolons": (TEXT.replace(",", ";"), None),
    "tabs": (TEXT.replace(",", "\t"), None),
    "spaces": (TEXT.replace(",", "  ").replace("\n", " \n "), None),
    "commas and spaces": (TEXT.replace(",", ", "), None),
    "a comment": ("# yes, no, none\n" + TEXT.replace("\n", "\n  # next\n"), None),
    "trailing commas": (TEXT.replace("\n", ",\n"), None),
    "trailing tabs": (TEXT.replace(",", "\t").replace("\n", "\t\n"), None),
    "names of columns": (
        "yes,no,none\n" + TEXT,
        "line 1 must hold probabilities, got the header 'yes, no",
    ),
    "two columns of pandas": ("0,1\n0.9,0.1\n0.2,0.8\n", PANDAS + "on another line$"),
    "float columns of pandas": ("0.0,1.0\n0.9,0.1\n0.2,0.8\n", PANDAS + "on another line$"),
    "columns of pandas": ("0,1,2\n" + TEXT, PANDAS + r"index=False\)$"),
    "columns and index of pandas": (",0,1\n0,0.9,0.1\n1,0.2,0.8\n", PANDAS),
    "an index": ("0,0.5,0.5\n1,0.2,0.8\n", NAMES),
    "an index of R": ("# R\n1 0.5 0.5\n2 0.2 0.8\n", NAMES),
    "names of rows": ("yes,0.5,0.5\nno,0.2,0.8\n", NAMES),
    "decimal commas": (TEXT.replace(",", ";").replace(".", ","), POINTS),
    "decimal commas and tabs": (TEXT.replace(",", "\t").replace(".", ","), POINTS),
    "decimal commas and spaces": (TEXT.replace(",", " ").replace(".", ","), POINTS),
    "decimal commas between commas": (TEXT.replace(".", ","), POINTS),
    "percent signs": ("50%,50%\n20%,80%\n", "line 1, column 1 .*; divide percentages by 100$"),
    "percentages": ("1,99\n20,80\n", "line 1, column 2 .*; divide percentages by 100$"),
    "four digits": (
        "0.3333,0.3333,0.3333\n" * 2,
        "line 1 .* got 0.9999; divide each row by its",
    ),
    "empty zeros": ("0.5,,0.5\n0.2,0.8,\n", "line 1, column 2 .*; write 0 for a probability of 0$"),
}


@pytest.mark.parametrize(("text", "message"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_layout_is_read_as_what_it_means_or_refused_with_what_to_do(path, text, message):
    path.write_text(text)
    if message is None:
        np.testing.assert_array_equal(MatrixFile(str(path)).matrix(), ROWS)
        return
    with pytest.raises(ValueError, match=rf"^file '{path}', .*{message}") as caught:
        MatrixFile(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["1,0\n0,1\n", "0.00,1.00\n1,0\n", "0,0.5,0.5\n1,0,0\n"])
def test_inputs_that_look_like_a_count_are_read_where_nothing_else_can_be_meant(path, text):
    path.write_text(text)
    rows = [list(map(float, line.split(","))) for line in text.split()]
    np.testing.assert_array_equal(MatrixFile(str(path)).matrix(), rows)


def test_what_has_no_end_is_not_read(path, tmp_path, device, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    for endless in (device("zero", 5), tmp_path / "pipe"):
        with pytest.raises(ValueError, match=r"must be a regular file: it is read more than once"):
            MatrixFile(str(endless))
    monkeypatch.setattr(matrix_file, "_MAX_FILE_LENGTH", len(TEXT) - 1)
    with pytest.raises(ValueError, match=rf"must have at most {len(TEXT) - 1} characters"):
        MatrixFile(str(path))
    monkeypatch.setattr(matrix_file, "_MAX_FILE_LENGTH", len(TEXT))
    MatrixFile(str(path))


def test_files_that_cannot_be_read(tmp_path):
    missing, binary = tmp_path / "missing.csv", tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe0,1")
    with pytest.raises(ValueError, match=r"^file '.*missing\.csv' cannot be read: No such file"):
        MatrixFile(str(missing))
    with pytest.raises(ValueError, match=r"^file '.*' must be a regular file"):
        MatrixFile(str(tmp_path))
    with pytest.raises(ValueError, match=r"^file '.*' must be a CSV file of text in UTF-8"):
        MatrixFile(str(binary))
    for value in (None, "", 3, ["m.csv"]):
        with pytest.raises(ValueError, match=r"^file must be the path of a CSV file, got"):
            MatrixFile(value)


# As configurations describe them.


def matrix(path):
    return {"type": "matrix", "file": str(path)}


def test_a_description_holds_what_stands_for_the_numbers(path):
    one = description.parse(matrix(path))
    digest = MatrixFile(str(path)).digest
    assert one.plain() == {**matrix(path), "digest": digest}
    assert one.has_own_eps0
    assert one.files == (str(path),)
    assert description.parse(one.plain()) == one
    made = one.randomizer(None)
    assert made is one.randomizer(4.0)
    assert made.eps0 == pytest.approx(math.log(6.0), rel=1e-14)
    path.write_text("0.5,0.5\n0.25,0.75\n")
    assert description.parse(matrix(path)) != one
    with pytest.raises(ValueError, match=r"^file '.*' must hold the numbers whose digest is"):
        description.parse(one.plain())


def test_matrices_are_composed_of_their_own_kind(path):
    two = {"type": "joint", "parts": [{"mechanism": matrix(path)}, {"mechanism": matrix(path)}]}
    found = description.parse(two)
    assert description.parse(found.plain()) == found
    assert found.files == (str(path), str(path))
    made = found.randomizer(None)
    assert isinstance(made, Joint)
    assert made.eps0 == pytest.approx(2.0 * math.log(6.0), rel=1e-14)
    rare = description.parse({"type": "subsample", "mechanism": matrix(path), "rate": 0.5})
    assert isinstance(rare.randomizer(None), Subsampled)
    assert rare.files == (str(path),)
    assert description.parse(rare.plain()) == rare


@pytest.mark.parametrize("type_", ["joint", "parallel"])
def test_matrices_share_no_eps0_with_others(path, type_):
    weight = {"weight": 0.5} if type_ == "parallel" else {}
    krr = {"mechanism": {"type": "krr", "k": 3}, **weight}
    mine = {"mechanism": matrix(path), **weight}
    share = {"share": 1.0 if type_ == "parallel" else 0.5}
    for parts in ([krr, mine], [mine | share, mine | share]):
        with pytest.raises(ValueError, match=r"^parts\[\d\]\.mechanism has an eps0 of its own; "):
            description.parse({"type": type_, "parts": parts})
