"""The small configuration that these tests edit, as a user would, and what is said of mistakes."""

import copy
from pathlib import Path

import pytest
import yaml

from shufflebounds.reproduce.configuration import checks
from shufflebounds.reproduce.configuration.sentences import ConfigError

FOLDER = Path(__file__).parent / "small"
PAPER = "su2026"
TEXTS = {
    "config.yaml": (FOLDER / "config.yaml").read_text(encoding="utf-8"),
    f"config/{PAPER}.yaml": (FOLDER / "config" / f"{PAPER}.yaml").read_text(encoding="utf-8"),
}


def content(texts: dict[str, str] = TEXTS) -> dict:
    """What the files hold, as the workflow joins them."""
    root, paper = (yaml.safe_load(text) for text in texts.values())
    return root | {PAPER: paper}


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
        checks.checked(made)
    except ConfigError as mistake:
        sentence = str(mistake)
        assert sentence.isprintable()
        assert len(sentence) < 1100
        return sentence
    return None


def mistake(made: object, file: str = f"config/{PAPER}.yaml") -> str:
    """What is said of a mistake in one of the files."""
    with pytest.raises(ConfigError) as caught:
        checks.checked(made)
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
