"""Titles of figures as statements: conditions on the numbers that a figure shows, and their check.

A condition such as ``best < blanket where n >= 1000`` compares enclosures. It holds at a point if
it holds for the whole enclosures, fails there if it fails for the whole enclosures, and is
undecided otherwise, as claims of papers are judged (`papers.judging`). It holds if it holds at all
points; one that begins with ``somewhere`` holds if it holds at any.

A name stands for a curve: ``blanket`` for that of every experiment that the figure shows,
``krr10.blanket`` for that of one. In figures of tables it stands for a column. There are numbers,
+ − * /, chains such as ``a <= b <= c``, and functions:

- ``lower(a)`` and ``upper(a)`` are the ends of an enclosure;
- ``first(a)``, ``last(a)``, ``smallest(a)`` and ``largest(a)`` are about all points of a panel;
- ``rises(a)`` and ``falls(a)`` are conditions: every value is above, or below, the one before it.

Behind ``where`` stand comparisons joined by ``and``, which choose points: of settings, of columns,
of ``regime`` and ``experiment``. Behind ``for each`` stand columns of a table, which is split into
a panel for each of their values.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from shufflebounds.curves.storage import CurveName

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# What a condition begins with that need not hold everywhere, and what stands before its filter and
# before the columns that tell panels apart.
SOMEWHERE = "somewhere "
WHERE = " where "
FOR_EACH = " for each "

ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
# Comparisons of the upper end on the left with the lower one on the right, which make them hold,
# and of the other two ends, which make them fail.
LESS: Mapping[type[ast.cmpop], tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    ast.Lt: (operator.lt, operator.ge),
    ast.LtE: (operator.le, operator.gt),
}
GREATER: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
EQUALITY: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
# Functions of the enclosures of a panel.
FUNCTIONS: Mapping[str, Callable[[Ends], Ends]] = {
    "lower": lambda ends: Ends(ends.low, ends.low),
    "upper": lambda ends: Ends(ends.high, ends.high),
    "first": lambda ends: Ends(ends.low[:1], ends.high[:1]),
    "last": lambda ends: Ends(ends.low[-1:], ends.high[-1:]),
    "smallest": lambda ends: Ends(ends.low.min(keepdims=True), ends.high.min(keepdims=True)),
    "largest": lambda ends: Ends(ends.low.max(keepdims=True), ends.high.max(keepdims=True)),
}
# Functions that are conditions, and how each value compares with the one before it.
TRENDS: Mapping[str, type[ast.cmpop]] = {"rises": ast.Gt, "falls": ast.Lt}


@dataclass(frozen=True)
class Ends:
    """Enclosures: both ends, shape (P,), or (1,) for what is the same at all points."""

    low: FloatArray
    high: FloatArray

    def combined(self, other: Ends, compute: Callable[[Any, Any], Any]) -> Ends:
        """Return the enclosures of sums, differences, products or quotients; NaN if unbounded."""
        with np.errstate(all="ignore"):
            corners = np.array(
                [compute(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
            )
        if compute is operator.truediv:
            corners[:, (other.low <= 0.0) & (other.high >= 0.0)] = np.nan
        return Ends(corners.min(axis=0), corners.max(axis=0))


# What a name stands for: enclosures, texts of shape (P,), or the name itself as a word.
Value: TypeAlias = Ends | NDArray[np.str_] | str
Panel: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True)
class Answer:
    """Whether a comparison holds at each point, and whether it fails, shape (P,)."""

    holds: BoolArray
    fails: BoolArray

    def __and__(self, other: Answer) -> Answer:
        return Answer(self.holds & other.holds, self.fails | other.fails)


@dataclass(frozen=True)
class Condition:
    """A condition, parsed.

    Parameters
    ----------
    text
        As the configuration has it.
    statement, choice
        What is to hold, and where; ``choice`` is None for everywhere.
    is_somewhere
        Whether it suffices that it holds at one point.
    columns
        Those whose values tell panels of a table apart.

    """

    text: str
    statement: ast.expr
    choice: ast.expr | None = None
    is_somewhere: bool = False
    columns: tuple[str, ...] = ()

    @property
    def names(self) -> set[str]:
        """Every name of a value in the statement, such as ``blanket`` or ``krr10.blanket``."""
        return {*_names(self.statement)}

    def judge(self, panels: Sequence[Panel]) -> Check:
        """Return the check on every panel that has all the values.

        Raises ValueError, which names the condition, if no panel has a point to compare.
        """
        is_qualified = all("." in name for name in self.names)
        shown: dict[Any, Panel] = {}
        for panel in (part for whole in panels for part in _split(whole, self.columns)):
            if any(name not in panel and "." in name for name in self.names):
                continue
            # Panels of one regime have the same qualified names.
            regime = panel.get("regime")
            key = regime[0] if is_qualified and isinstance(regime, np.ndarray) else id(panel)
            shown.setdefault(key, panel)
        try:
            answers = [answer for x in shown.values() if (answer := self._answer(x)) is not None]
        except _UnknownNameError:
            answers = []
        if not answers:
            raise ValueError(f"holds: {self.text!r} compares nothing that the figure shows")
        holds = np.concatenate([answer.holds for answer in answers])
        fails = np.concatenate([answer.fails for answer in answers])
        return Check(self, holds.size, int(holds.sum()), int(fails.sum()))

    def _answer(self, panel: Panel) -> Answer | None:
        """Return the answer at the chosen points of a panel; None if it has none."""
        if any(name not in panel for name in self.names if not _is_word(name, self.statement)):
            return None
        size = max(len(x.low) if isinstance(x, Ends) else len(x) for x in panel.values())
        chosen = np.ones(size, bool)
        if self.choice is not None:
            chosen &= _compared(self.choice, panel).holds
        used = [panel[name] for name in self.names if name in panel]
        for value in used:
            if isinstance(value, Ends):
                chosen &= ~(np.isnan(value.low) | np.isnan(value.high))
        if not chosen.any():
            return None
        answer = _compared(self.statement, {name: _at(x, chosen) for name, x in panel.items()})
        return answer if answer.holds.size else None


@dataclass(frozen=True)
class Check:
    """What the numbers say of a condition: at how many points it holds and fails."""

    condition: Condition
    points: int
    holding: int
    failing: int

    @property
    def is_true(self) -> bool:
        """Whether the condition holds."""
        return self.holding > 0 if self.condition.is_somewhere else self.holding == self.points

    def __str__(self) -> str:
        """Return the condition and the numbers of points: ``a < b`` holds at 30 of 30 points."""
        undecided = self.points - self.holding - self.failing
        more = f", undecided at {undecided}" if undecided else ""
        return f"`{self.condition.text}` holds at {self.holding} of {self.points} points{more}"


class _UnknownNameError(Exception):
    """A name stands for no value of a panel."""


def parse(text: str) -> Condition:
    """Return a condition; ValueError, which names the text, for what is not one.

    Examples
    --------
    >>> sorted(parse("best <= 1.05 * krr10.lower where n > 1000").names)
    ['best', 'krr10.lower']

    """
    rest, _, columns = text.removeprefix(SOMEWHERE).partition(FOR_EACH)
    statement, _, choice = rest.partition(WHERE)
    trees = []
    for part in (statement, choice):
        try:
            trees.append(ast.parse(part.strip(), mode="eval").body if part else None)
        except SyntaxError:
            raise ValueError(f"{text!r} is not a condition such as 'best < blanket'") from None
    first, second = trees
    if first is None or not _is_condition(first) or (second and not _is_condition(second)):
        raise ValueError(
            f"{text!r} is not a condition; it must compare names and numbers by <, <=, >, >=, == "
            f"or !=, joined by 'and', with + - * / and {', '.join((*FUNCTIONS, *TRENDS))}"
        )
    names = tuple(name for name in re.split(r"[\s,]+", columns) if name)
    return Condition(text, first, second, text.startswith(SOMEWHERE), names)


def check(texts: Sequence[str], panels: Sequence[Panel]) -> list[Check]:
    """Return the checks of conditions on the panels of a figure; ValueError as `parse` and `judge`.

    Examples
    --------
    >>> low, high = np.array([1.0, 2.0]), np.array([1.1, 2.2])
    >>> print(*check(["a < 1.5 * a", "a < 2"], [{"a": Ends(low, high)}]), sep="; ")
    `a < 1.5 * a` holds at 2 of 2 points; `a < 2` holds at 1 of 2 points

    """
    return [parse(text).judge(panels) for text in texts]


def checked_title(title: str, checks: Sequence[Check]) -> str:
    """Return the title of a figure, behind a warning if the numbers do not show what it says."""
    doubtful = [each for each in checks if not each.is_true]
    if not doubtful:
        return title
    fails = any(each.failing for each in doubtful)
    return f"{'Not true' if fails else 'Not decided'} by these numbers: {title}"


def panels_of_curves(frames: Mapping[CurveName, pd.DataFrame], x: str) -> list[Panel]:
    """Return a panel for each regime and experiment, given the tables of curves along an axis.

    It has the experiment's own curves by their names and all of the regime by qualified ones, at
    all points that any of them has.
    """
    panels: list[Panel] = []
    for regime in dict.fromkeys(name.regime for name in frames):
        tables = {name: frame for name, frame in frames.items() if name.regime == regime}
        axis = np.unique(np.concatenate([table[x].to_numpy(float) for table in tables.values()]))
        for experiment in dict.fromkeys(name.experiment for name in tables):
            own = {n.curve: t for n, t in tables.items() if n.experiment == experiment}
            every = {f"{n.experiment}.{n.curve}": t for n, t in tables.items()}
            values: dict[str, Value] = {
                name: _ends_along(table, x, axis) for name, table in {**every, **own}.items()
            }
            for key, words in (("regime", regime), ("experiment", experiment)):
                values[key] = np.full(axis.size, words)
            panels.append({**_settings(next(iter(own.values())), x, axis), **values})
    return panels


def panel_of_table(frame: pd.DataFrame) -> Panel:
    """Return the columns of a table: numbers, NaN where there is none, or texts."""
    import pandas as pd

    panel: dict[str, Value] = {}
    for name in frame.columns:
        numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(float)
        is_text = np.isnan(numbers).all()
        panel[str(name)] = frame[name].to_numpy(str) if is_text else Ends(numbers, numbers)
    return panel


def _ends_along(frame: pd.DataFrame, x: str, axis: FloatArray) -> Ends:
    """Return the enclosures of a curve at the points of an axis; NaN where it has none."""
    quantity = str(frame["quantity"].iloc[0])
    table = frame.set_index(frame[x].to_numpy(float)).reindex(axis)
    low, high = (table[f"{quantity}_{end}"].to_numpy(float) for end in ("lower", "upper"))
    return Ends(low, high)


def _settings(frame: pd.DataFrame, x: str, axis: FloatArray) -> dict[str, Value]:
    """Return the settings of a curve at the points of an axis."""
    from shufflebounds.core.setting import NAMES

    table = frame.set_index(frame[x].to_numpy(float)).reindex(axis)
    columns = {name: table[name].to_numpy(float) for name in NAMES if name in table}
    return {name: Ends(numbers, numbers) for name, numbers in columns.items()}


def _split(panel: Panel, columns: Sequence[str]) -> list[Panel]:
    """Return a panel for each combination of the values of some columns; all without columns."""
    parts: list[Panel] = [panel]
    for name in columns:
        if name not in panel:
            return []
        further: list[Panel] = []
        for part in parts:
            value = part[name]
            cells = value.low if isinstance(value, Ends) else np.asarray(value)
            for cell in dict.fromkeys(cells.tolist()):
                further.append({key: _at(x, cells == cell) for key, x in part.items()})
        parts = further
    return parts


def _at(value: Value, chosen: BoolArray) -> Value:
    """Return a value at some points."""
    if isinstance(value, Ends):
        return Ends(value.low[chosen], value.high[chosen])
    return value if isinstance(value, str) else value[chosen]


def _is_condition(node: ast.expr) -> bool:
    """Return whether an expression is one of comparisons and trends, and of nothing else."""
    match node:
        case ast.BoolOp(op=ast.And()):
            return all(map(_is_condition, node.values))
        case ast.Compare():
            known = {*LESS, *GREATER, *EQUALITY}
            operands = [node.left, *node.comparators]
            return {type(op) for op in node.ops} <= known and all(map(_is_number, operands))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            return name in TRENDS and _is_number(argument)
    return False


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=int() | float() | str()) | ast.Name():
            return True
        case ast.Attribute(value=ast.Name()):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_number(operand)
        case ast.BinOp():
            return type(node.op) in ARITHMETIC and _is_number(node.left) and _is_number(node.right)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            return name in FUNCTIONS and _is_number(argument)
    return False


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names of values in an expression, but not those of functions."""
    match node:
        case ast.Attribute(value=ast.Name(id=experiment), attr=curve):
            yield f"{experiment}.{curve}"
        case ast.Name(id=name):
            yield name
        case ast.Call(args=[argument]):
            yield from _names(argument)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _names(child)


def _is_word(name: str, statement: ast.expr) -> bool:
    """Return whether a name may stand for itself: it is one side of an equality."""
    return any(
        isinstance(side, ast.Name) and side.id == name
        for node in ast.walk(statement)
        if isinstance(node, ast.Compare) and {type(op) for op in node.ops} <= {*EQUALITY}
        for side in node.comparators
    )


def _compared(node: ast.expr, panel: Panel) -> Answer:
    """Return the answer to a condition, which has passed `parse`."""
    if isinstance(node, ast.BoolOp):
        return reduce(operator.and_, (_compared(value, panel) for value in node.values))
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        ends = _value(node.args[0], panel)
        assert isinstance(ends, Ends)
        before, after = (Ends(ends.low[part], ends.high[part]) for part in (_BUT_LAST, _BUT_FIRST))
        return _order(TRENDS[node.func.id], after, before)
    assert isinstance(node, ast.Compare)
    sides = [_value(side, panel) for side in (node.left, *node.comparators)]
    pairs = zip(node.ops, sides, sides[1:], strict=False)
    return reduce(operator.and_, (_order(type(op), *pair) for op, *pair in pairs))


_BUT_LAST, _BUT_FIRST = slice(None, -1), slice(1, None)


def _order(comparison: type[ast.cmpop], left: Value, right: Value) -> Answer:
    """Return the answer to one comparison."""
    if not (isinstance(left, Ends) and isinstance(right, Ends)):
        if comparison not in EQUALITY or isinstance(left, Ends) or isinstance(right, Ends):
            raise _UnknownNameError
        holds = np.atleast_1d(EQUALITY[comparison](left, right))
        return Answer(holds, ~holds)
    if comparison in GREATER:
        return _order(GREATER[comparison], right, left)
    if comparison in LESS:
        is_sure, is_false = LESS[comparison]
        return Answer(is_sure(left.high, right.low), is_false(left.low, right.high))
    is_same = (left.low == right.high) & (left.high == right.low)
    is_apart = (left.high < right.low) | (left.low > right.high)
    return Answer(is_same, is_apart) if comparison is ast.Eq else Answer(is_apart, is_same)


def _value(node: ast.expr, panel: Panel) -> Value:
    """Return what an expression stands for in a panel."""
    match node:
        case ast.Constant(value=str(word)):
            return word
        case ast.Constant(value=number):
            return Ends(*2 * [np.array([float(number)])])  # type: ignore[arg-type]
        case ast.Name() | ast.Attribute():
            [name] = _names(node)
            return panel.get(name, name)
        case ast.Call(func=ast.Name(id=function), args=[argument]):
            return FUNCTIONS[function](_ends(argument, panel))
        case ast.UnaryOp(operand=operand):
            ends = _ends(operand, panel)
            return Ends(-ends.high, -ends.low)
        case ast.BinOp(left=left, op=op, right=right):
            return _ends(left, panel).combined(_ends(right, panel), ARITHMETIC[type(op)])
    raise AssertionError(ast.dump(node))


def _ends(node: ast.expr, panel: Panel) -> Ends:
    value = _value(node, panel)
    if not isinstance(value, Ends):
        raise _UnknownNameError
    return value
