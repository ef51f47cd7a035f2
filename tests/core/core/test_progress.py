"""Steps of long work are shown to whoever watches, and to nobody else."""

import io
import sys

import pytest

import shufflebounds as sb
from shufflebounds.core.progress import ERASE_LINE, steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    with sb.progress():
        assert list(steps("ab", "letters")) == ["a", "b"]
    return stream.getvalue()


def test_a_terminal_has_one_line_which_is_wiped_off(monkeypatch):
    lines = ("computing 1 of 2: letters", "computing 2 of 2: letters", "")
    assert shown(monkeypatch, Terminal()) == "".join(f"{ERASE_LINE}{line}" for line in lines)


def test_a_pipe_has_nothing(monkeypatch):
    assert shown(monkeypatch, io.StringIO()) == ""


def test_nothing_is_shown_outside_of_the_block(monkeypatch):
    calls = []
    with sb.progress(lambda *step: calls.append(step)):
        next(steps("ab", "letters"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(steps("ab", "letters")) == ["a", "b"]
    assert (calls, sys.stderr.getvalue()) == ([(1, 2, "letters")], "")


def test_rounds_that_differ_are_steps():
    calls, blankets = [], [sb.KRR(2, eps0).blanket() for eps0 in (0.5, 1.0)]
    with sb.progress(lambda *step: calls.append(step)):
        sb.compose([(blanket, 1000, 2) for blanket in blankets]).epsilon(1e-6)
    assert calls[:2] == [(1, 2, "losses of rounds"), (2, 2, "losses of rounds")]


def test_only_a_function_can_watch():
    with pytest.raises(ValueError, match="show must be a function of three arguments, got 3"):
        sb.progress(3).__enter__()
