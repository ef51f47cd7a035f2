"""Every public name says what it takes, and its example runs."""

import ast
import doctest
import inspect
import re

import numpy as np
import pytest
from printed import Checker
from repository import ROOT

import shufflebounds as sb
from shufflebounds.questions.composed import Composed
from shufflebounds.questions.profile import SampledProfile

# What public functions return counts as public.
PUBLIC = {name: getattr(sb, name) for name in sb.__all__ if name != "__version__"}
PUBLIC |= {"Composed": Composed, "SampledProfile": SampledProfile}
FUNCTIONS = {name: one for name, one in PUBLIC.items() if inspect.isfunction(one)}
CLASSES = {name: one for name, one in PUBLIC.items() if inspect.isclass(one)}
METHODS = {
    f"{owner.__name__}.{name}": member
    for owner in CLASSES.values()
    for base in owner.__mro__
    if base.__module__.startswith("shufflebounds")
    for name, member in vars(base).items()
    if not name.startswith("_") and inspect.isfunction(member)
    # What a subclass gives to a method of another class is said there.
    if getattr(owner, name) is member
    if len(inspect.signature(member).parameters) > 1
    if not any(name in vars(other) for other in base.__mro__[1:])
}
UNDOCUMENTED = {"self"}
# First words of docstrings that say what something is and not what a function does.
NOUN_PHRASE = re.compile(
    r"(?![A-Z][a-z]+ )|(?:An?|As|Blanket|Bounds?(?= of)|By|Datasets?|Enclosures|Every|Everything"
    r"|Estimates|How|If|Its|Keyword|Lower|Names|Numbers?(?= of)|Of|One|Ours|Points|Roots|Seconds"
    r"|Such|Table|That|The|Theorem|Up|Upper|Weights|What|Where|Whether|Why) "
)


def sections(docstring):
    """The lines under each underlined heading of numpydoc."""
    found, lines = {}, inspect.cleandoc(docstring).splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line and following == "-" * len(line):
            current = found.setdefault(line, [])
        elif found and set(line) != {"-"}:
            current.append(line)
    return found


def documented(docstring):
    """The names under Parameters, which stand at the margin."""
    lines = sections(docstring).get("Parameters", [])
    return [name for line in lines if line[:1].strip() for name in line.split(", ")]


def taken(callable_):
    return [name for name in inspect.signature(callable_).parameters if name not in UNDOCUMENTED]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name(name):
    one = PUBLIC[name]
    assert documented(one.__doc__) == taken(one)
    needed = {"Examples"} if inspect.isclass(one) else {"Returns", "Raises", "Examples"}
    assert needed <= sections(one.__doc__).keys()
    # As much as a reader sees at once.
    assert len(one.__doc__.splitlines()) <= 60


@pytest.mark.parametrize("name", METHODS)
def test_method_with_arguments(name):
    assert documented(METHODS[name].__doc__) == taken(METHODS[name])
    assert METHODS[name].__annotations__["return"] == "None" or "Returns" in sections(
        METHODS[name].__doc__
    )


@pytest.mark.parametrize("name", PUBLIC)
def test_examples(name):
    tests = doctest.DocTestFinder().find(PUBLIC[name], name, globs={"sb": sb, "np": np})
    runner = doctest.DocTestRunner(Checker())
    for test in tests:
        runner.run(test)
    assert runner.tries
    assert not runner.failures


@pytest.mark.parametrize("folder", ["src/shufflebounds", "workflow/reproduction"])
def test_docstrings_of_functions_begin_with_a_verb(folder):
    """Properties are nouns, and commands print their docstrings as help."""
    nouns = [
        f"{path.name}: {node.name}: {docstring}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "cli" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        if not any(re.search("property|validator", ast.unparse(x)) for x in node.decorator_list)
        if NOUN_PHRASE.match(docstring := ast.get_docstring(node) or "Return ")
    ]
    assert nouns == []
