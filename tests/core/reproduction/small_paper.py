"""The small configuration that these tests edit, as a user would, and what is said of mistakes."""

import copy
from pathlib import Path

import pytest
import yaml
from repository import ROOT

from reproduction.configuration import checks
from reproduction.configuration.sentences import ConfigError

FOLDER = Path(__file__).parent / "small"
PAPER = "su2026"
TEXTS = {
    "config.yaml": (FOLDER / "config.yaml").read_text(encoding="utf-8"),
    f"config/{PAPER}.yaml": (FOLDER / "config" / f"{PAPER}.yaml").read_text(encoding="utf-8"),
}


_MIX = {
    "type": "parallel",
    "parts": [{"mechanism": "krr10", "weight": 0.25}, {"mechanism": "blh", "weight": 0.75}],
}
_PAIR = {"type": "joint", "parts": [{"mechanism": "krr10"}, {"mechanism": "mix"}]}
_SOME = {"type": "subsample", "mechanism": "pair", "rate": 0.5}
_LINE = {
    "experiment": "krr10",
    "curve": "upper",
    "label": "a",
}
_FIGURE = {"title": "One", "caption": "One.", "regimes": ["low"], "lines": [_LINE]}
_TABLES = {
    "gparv": {"kind": "gparv", "eps0": [1.0, 4.0], "eps": 0.5, "k": 10},
    "finite": {"kind": "finite_domains", "eps0": [1.0], "k": 10, "domain_size": 4},
    "large": {"kind": "large_domains", "eps0": [1.0, 4.0]},
    "hierarchy": {
        "kind": "hierarchy",
        "mechanisms": ["krr10"],
        "eps0": [1.0],
        "n": [100],
        "delta": 1e-6,
    },
    "law": {"kind": "amplification_variable", "mechanism": "krr10", "eps0": 1.0, "eps": 0.1},
}
# Entries of every section to add to it.
GOOD = {
    "mechanisms": {"mix": _MIX, "pair": _PAIR, "some": _SOME},
    "experiments": {"some": {"mechanism": "some", "regimes": ["low"], "curves": ["upper"]}},
    "figures": {"one": _FIGURE, "cdf": {"title": "L", "caption": "L.", "table": "law"}},
    "tables": _TABLES,
    "claims": {"improvement": ["fig"], "joint": ["fig", "one"]},
}


def content(texts: dict[str, str] = TEXTS) -> dict:
    """What the files hold, as the workflow joins them."""
    root, paper = (yaml.safe_load(text) for text in texts.values())
    return root | {PAPER: paper}


def our_own() -> dict:
    """The configuration of this repository."""
    made = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    for name in made["papers"]:
        made[name] = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8"))
    return made


def edited(old: str, new: str) -> dict:
    """The same with a text replaced that stands in one place of the files."""
    assert sum(text.count(old) for text in TEXTS.values()) == 1
    return content({name: text.replace(old, new) for name, text in TEXTS.items()})


def added(**sections: dict) -> dict:
    """The same with entries added to sections of the paper."""
    made = content()
    for section, entries in copy.deepcopy(sections).items():
        made[PAPER][section] = made[PAPER].get(section, {}) | entries
    return made


def refusal(made: object) -> str | None:
    """The sentence that refuses a configuration, which must be one line of a screen's text."""
    try:
        checks.make_plan(made)
    except ConfigError as mistake:
        sentence = str(mistake)
        assert sentence.isprintable()
        assert len(sentence) < 1100
        return sentence
    return None


def mistake(made: object, file: str = f"config/{PAPER}.yaml") -> str:
    """What is said of a mistake in one of the files."""
    with pytest.raises(ConfigError) as caught:
        checks.make_plan(made)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith(f"{file}: ")
    return sentence.removeprefix(f"{file}: ")


def table(text: str) -> list[tuple[str, str]]:
    """Edits and the sentences that are told, which stand below them and may be wrapped."""
    cases: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("- "):
            cases.append((line.removeprefix("- "), ""))
        else:
            edit, sentence = cases.pop()
            cases.append((edit, f"{sentence} {line.strip()}".strip()))
    return cases
