"""The reference: all public names, protocols and bounds, and the help of each command."""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import pages
from sphinx.application import Sphinx

import shufflebounds
from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli import main
from shufflebounds.protocols.registry import PROTOCOLS

# The part of the library in which a public name is defined, its page, and what that is about.
_QUESTIONS = (
    "questions",
    "Questions",
    "What one can ask of a randomizer or a decomposition.",
)
_PARTS = {
    "core": (
        "objects",
        "Decompositions and enclosures",
        "What every bound is made of and answers with.",
    ),
    "randomizers": ("mechanisms", "Mechanisms", "Local randomizers, and how they compose."),
    "estimation": ("mechanisms", "Mechanisms", "Local randomizers, and how they compose."),
    "api": _QUESTIONS,
    "questions": _QUESTIONS,
    "subjects": _QUESTIONS,
    "protocols": _QUESTIONS,
    "divergence": _QUESTIONS,
    "bounds": (
        "pairs",
        "Pairs of a class",
        "Decompositions that cover every mechanism of a class.",
    ),
}
# Not among the public names: what one imports by its module.
_MODULES = {
    "shufflebounds.questions.accountant": "For other accountants.",
    "shufflebounds.bounds.registry": "Bounds by name.",
    "shufflebounds.curves.curve": "One curve: computed, written, read.",
    "shufflebounds.curves.specification": "What a curve is made of, and what it runs along.",
    "shufflebounds.core.setting": "What is held fixed.",
    "shufflebounds.randomizers.description": "A mechanism as configurations write it.",
    "shufflebounds.randomizers.registry": "Mechanisms by name, and those of other packages.",
}

_KINDS = {
    Kind.UPPER: "The truth is at most this: you can claim it.",
    Kind.LOWER: "The truth is at least this: no valid claim can be smaller.",
    Kind.CLASS_LOWER: "Some randomizer of the class attains this; of a given one it says nothing.",
    Kind.UNPROVEN: "Asymptotic, or published without a proof that holds: it supports neither.",
}


def public_names() -> dict[str, list[str]]:
    """Every public name, sorted under the page that it stands on."""
    found = defaultdict(list)
    for name in shufflebounds.__all__:
        public = getattr(shufflebounds, name)
        if not name.startswith("_"):
            part = public.__module__.removeprefix("shufflebounds").strip(".").partition(".")
            found[_PARTS[part[0]][0]].append(name)
    return {page: sorted(names, key=str.lower) for page, names in found.items()}


def _library() -> dict[str, str]:
    titles = {page: (title, about) for page, title, about in _PARTS.values()}
    return {
        page: _page(title, about, _directives(names, page))
        for (page, names) in public_names().items()
        for title, about in [titles[page]]
    }


def _directives(names: Iterable[str], page: str) -> list[str]:
    lines = []
    for name in names:
        public = getattr(shufflebounds, name)
        if inspect.isclass(public):
            lines += [
                f".. autoclass:: shufflebounds.{name}",
                "   :members:",
                "   :show-inheritance:",
                "",
            ]
        else:
            lines += [f".. autofunction:: shufflebounds.{name}", ""]
    # What they return, if that has no public name.
    modules = sorted({getattr(shufflebounds, name).__module__ for name in names})
    for module in modules if page == "questions" else []:
        for name, value in vars(importlib.import_module(module)).items():
            own = inspect.isclass(value) and value.__module__ == module
            if own and not name.startswith("_") and name not in shufflebounds.__all__:
                lines += [f".. autoclass:: {module}.{name}", "   :members:", ""]
    return lines


def _protocols() -> str:
    lines = []
    for name, entry in PROTOCOLS.items():
        made = entry.make
        lines += [f".. autoclass:: {made.__module__}.{made.__name__}", "   :members:", ""]
        lines += [f"   Configurations call it ``{name}``.", ""]
    about = (
        "How n users reduce to decompositions and draws, where they send more than one report each."
    )
    return _page(
        "Protocols",
        about,
        [".. autoclass:: shufflebounds.subjects.base.Subject", "   :members:", "", *lines],
    )


def _bounds() -> str:
    lines = [
        "# Bounds",
        "",
        "What `bound` may be in a configuration, as `shufflebounds bounds` lists them.",
        "",
    ]
    for kind, meaning in _KINDS.items():
        lines += [f"## {kind.value.capitalize()}", "", meaning, ""]
        for bound in BOUNDS.values():
            if bound.kind is kind:
                knows = "the mechanism" if bound.knows_mechanism else "ε₀ alone"
                lines += [
                    f"`{bound.name}`: *{pages.plain(bound.label)}*, knows {knows}, gives "
                    f"{' and '.join(bound.quantities)}. {pages.plain(bound.source)}.",
                    "",
                ]
    return "\n".join(lines)


def _commands() -> str:
    lines = [
        "# The command line",
        "",
        "What `shufflebounds -h`, and `-h` after each command, print.",
        "",
    ]
    context = click.Context(
        main, info_name="shufflebounds", terminal_width=84, max_content_width=84
    )
    lines += ["```text", main.get_help(context), "```", ""]
    for name, command in main.commands.items():
        inner = click.Context(
            command, info_name=name, parent=context, terminal_width=84, max_content_width=84
        )
        lines += [f"## {name}", "", "```text", command.get_help(inner), "```", ""]
    return "\n".join(lines)


def _page(title: str, about: str, directives: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "", about, "", "```{eval-rst}", *directives, "```", ""])


def _modules() -> str:
    lines = []
    for module, about in _MODULES.items():
        lines += [
            f"## {about.rstrip('.')}",
            "",
            "```{eval-rst}",
            f".. automodule:: {module}",
            "   :members:",
            "```",
            "",
        ]
    return "\n".join(["# For scripts", "", "Modules that one imports by name.", "", *lines])


def _write(app: Sphinx) -> None:
    made = {
        **_library(),
        "protocols": _protocols(),
        "bounds": _bounds(),
        "commands": _commands(),
        "modules": _modules(),
    }
    pages.replace(Path(app.srcdir) / "api", made)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the pages before Sphinx looks for them."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
