"""Nothing that a configuration holds reaches a path, a shell or the report's page as more than
text.

Hostile values stand in every place of a good configuration, in turn; each is refused in one line or
harmless. What whole runs make of them is in tests/slow/workflow/test_security.py.
"""

import copy
from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
import yaml
from hypothesis import example, given
from repository import ROOT
from small_paper import FOLDER, GOOD, PAPER, added, content, refusal
from strategies import FUZZ, examples

from reproduction.configuration import loading
from reproduction.configuration.sentences import ConfigError

# A configuration with every section.
MORE = {
    "mechanisms": {
        "laplace": {"type": "laplace", "domain": "interval", "others": 0.5},
        "rappor": {"type": "rappor", "domain_size": 4},
        "both": {
            "type": "joint",
            "parts": [{"mechanism": "krr10", "share": 0.25}, {"mechanism": "blh", "share": 0.75}],
        },
    },
    "curves": {"distance1": {"bound": "blanket", "k_joint": 2, "distance": 1}},
    "experiments": {
        "profile": {
            "mechanism": "krr10",
            "regimes": ["low"],
            "curves": ["clone"],
            "setting": {"n": 100, "eps": 0.1, "delta": {"over_n": 0.1}},
            "x": {"eps0": {"start": 0.5, "stop": 2.0, "points": 3, "spacing": "linear"}},
        },
    },
    "figures": {
        "lines": GOOD["figures"]["one"]
        | {"transform": "expm1", "ratio": {"experiment": "krr10", "curve": "clone"}}
        | {"lines": [GOOD["figures"]["one"]["lines"][0] | {"view": "axes"}]},
    },
}
FULL = added(**{name: GOOD.get(name, {}) | MORE.get(name, {}) for name in {*GOOD, *MORE}})

TEXTS = [
    "../x",
    "/tmp/x",
    "a;touch x",
    "`touch x`",
    "$(touch x)",
    "krr10\n",
    "кrr10",  # Cyrillic
    "krr１０",  # full-width digits
    "{wildcards.x}",
    "{{ 7 * 7 }}",
    "</script><script>alert(1)</script>",
    "\x1b[31m",
    "",
    "a" * 5000,
    "!!python/object/apply:os.system",
]
NUMBERS = [10**400, -1, float("nan"), float("inf"), -float("inf"), "NaN", "1e-6", True]
SHAPES = [None, [], {}, {"a": 1}, [1, 2]]


def places(node: object, path: tuple = ()) -> Iterator[tuple]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from places(value, (*path, key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from places(value, (*path, i))
    if path:
        yield path


def at(config: dict, path: tuple) -> object:
    for step in path:
        config = config[step]
    return config


def with_value(path: tuple, value: object) -> dict:
    config = copy.deepcopy(FULL)
    at(config, path[:-1])[path[-1]] = value
    return config


def is_shown(path: tuple) -> bool:
    """Whether a place holds text that is for people to read."""
    return path[-1] in ("label", "caption", "title") or path[:2] == (PAPER, "style")


PLACES = list(places(FULL))


def test_the_configuration_of_these_tests_is_good():
    assert refusal(FULL) is None


def some_places(number: int) -> list[tuple]:
    """Every fourth place, beginning at another one for each number; all of them with FUZZ."""
    return PLACES if FUZZ > 1 else PLACES[number % 4 :: 4]


@pytest.mark.parametrize(("number", "value"), list(enumerate(TEXTS)))
def test_hostile_text_is_taken_nowhere_but_where_people_read_it(number, value):
    taken = {path for path in some_places(number) if refusal(with_value(path, value)) is None}
    assert all(map(is_shown, taken))


# 10**400 is the size of a legal domain.
@pytest.mark.parametrize("value", NUMBERS[1:6], ids=lambda value: repr(value)[:12])
def test_impossible_numbers_are_taken_nowhere(value):
    places = [path for path in PLACES if isinstance(at(FULL, path), int | float)]
    assert len(places) > 10
    for path in places:
        assert refusal(with_value(path, value))


NASTY = st.one_of(
    st.sampled_from([*TEXTS, *NUMBERS, *SHAPES]),
    st.sampled_from(
        [
            *(0, 0.0, -0.0, 1, 2, 7, 10**15 + 1, 2**63, 2**64, 10**300, 5e-324, 1e308, 1e400),
            *["none", "upper", "krr10", "krr", "fig", "law", "1", "0x10", "yes", "~", "null"],
            *([[]], [None], [[1]], [{}], ["low", "low"], [1, 1.0], [True, 1], ["low", None]),
            *({"": 1}, {None: 1}, {1: 2}, {True: False}, {1.5: "a"}, {"type": "krr"}),
            {"a": {"b": []}},
            *({"over_n": 1}, {"over_n": None}, {"over_n": [1]}, {"over_n": {"over_n": 1}}),
            *({"n": [1]}, {"n": None}, {"n": {}}, {"eps": {"start": 1, "stop": 2, "points": 2}}),
            {"type": "joint", "parts": {"mechanism": "krr10"}},
            {"type": "joint", "parts": ["krr10", "blh"]},
            {"type": "subsample", "mechanism": ["krr10"], "rate": 0.5},
            {"start": 1, "stop": 10**400, "points": 10**400},
            {"start": float("nan"), "stop": "b", "points": [3]},
        ]
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=3) | st.integers(0, 3), inner, max_size=3)
        ),
        max_leaves=6,
    ),
)


@given(st.lists(st.tuples(st.sampled_from(PLACES), NASTY), min_size=1, max_size=3))
@example([((PAPER, "setting"), {0: None})])
@example([((PAPER, "experiments"), {0: {"": None}})])
@examples(150)
def test_whatever_stands_there_one_sentence_is_told(changes):
    config = copy.deepcopy(FULL)
    for path, value in changes:
        try:
            at(config, path[:-1])[path[-1]] = value
        except (KeyError, IndexError, TypeError):  # replaced by what has no such place
            continue
    refusal(config)


@pytest.mark.parametrize("value", [None, 1, "a", [], {"a": None}])
def test_unknown_keys_are_refused_everywhere(value):
    """But for names that are free, where the value is refused."""
    for path in [(), *PLACES]:
        if isinstance(at(FULL, path), dict):
            config = copy.deepcopy(FULL)
            at(config, path)["unknown"] = value
            sentence = refusal(config)
            place = ".".join(map(str, path[1:]))
            free = path[:2] == (PAPER, "style") and value == "a"
            assert sentence is not None or free, path
            assert free or "unknown" in sentence or f"{place} " in sentence, sentence


@pytest.mark.parametrize("name", [text for text in TEXTS if text] + [7, True, None, 1.5])
@pytest.mark.parametrize(
    "section", ["regimes", "mechanisms", "curves", "experiments", "figures", "tables"]
)
def test_hostile_names_are_refused(section, name):
    config = copy.deepcopy(FULL)
    config[PAPER][section][name] = next(iter(config[PAPER][section].values()))
    assert "is not a valid name" in refusal(config)


def test_a_formula_that_does_not_end_is_refused():
    sentence = refusal(with_value((PAPER, "regimes", "low", "label"), "low $"))
    assert sentence == (
        f"config/{PAPER}.yaml: regimes.low.label is 'low $', with a $ too few or too many; "
        r"write \$ for the sign itself"
    )


@pytest.mark.parametrize("text", [r"$\varepsilon_0$ = 1", r"costs \$5", "n < 5", "50 %", "a_b"])
def test_ordinary_texts_are_taken(text):
    assert refusal(with_value((PAPER, "regimes", "low", "label"), text)) is None


def told(folder, text) -> str | None:
    """What is said of a file with this text; None where nothing is."""
    file = folder / "config.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    try:
        loading.read(file)
    except ConfigError as mistake:
        sentence = str(mistake).replace(str(file), file.name)
    else:
        return None
    assert sentence.isprintable()
    return sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("delta: 1\nn: 2\ndelta: 3\n", ": 'delta' is given twice, on lines 1 and 3; give it once"),
        ("a: {b: 1, b: 2}\n", ": 'b' is given twice, on lines 1 and 1; give it once"),
        (
            "__use_yte__: true\na: ?__import__('os').system('touch x')\n",
            ": __use_yte__ on line 1 is not allowed",
        ),
        (
            "a:\n  - !!python/object/apply:os.system ['touch x']\n",
            " is not valid YAML: could not determine a constructor for the tag",
        ),
        ("? [a, b]\n: 1\n", " is not valid YAML: found unhashable key on line 1"),
        ("a: [1\n", " is not valid YAML: did not find expected"),
        ("a: *b\n", " is not valid YAML: found undefined alias on line 1"),
        ("a: &k {b: 1, c: *k}\n", " is nested too deep, or an alias contains itself"),
        (f"a: {'[' * 3000}{']' * 3000}\n", " is nested too deep, or an alias contains itself"),
        (b"a: \xff", " is not valid YAML: 'utf-8' codec can't decode byte 0xff"),
        ("a: 2020-13-45\n", " is not valid YAML: month must be in 1..12"),
    ],
)
def test_what_yaml_hides_or_chokes_on_is_refused(tmp_path, text, sentence):
    assert told(tmp_path, text).startswith(f"config.yaml{sentence}")


def with_aliases(levels: int, entry: str) -> str:
    """Text in which `entry` stands on every level, @ for an alias of the level below."""
    above = (f"a{i}: &a{i} {entry.replace('@', f'*a{i - 1}')}\n" for i in range(1, levels))
    return "".join(["a0: &a0 {x: 1}\n", *above])


@pytest.mark.parametrize(
    ("levels", "entry"), [(7, f"{{<<: [{', '.join(['@'] * 9)}]}}"), (90, "[@, @]")]
)
def test_aliases_that_stand_for_too_much_are_refused(tmp_path, levels, entry):
    sentence = "config.yaml is too long: with its aliases written out, at most 100000 keys"
    assert told(tmp_path, with_aliases(levels, entry)).startswith(sentence)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: &x {b: 1}\nc: {<<: *x, b: 2}\nd: *x\n",
        '{"a": 1}',
        with_aliases(12, "{<<: @, y: 2}"),
    ],
)
def test_plain_files_pass(tmp_path, text):
    assert told(tmp_path, text) is None


OUR_FILES = [
    file
    for folder in (ROOT, FOLDER)
    for file in (folder / "config.yaml", *(folder / "config").glob("*.yaml"))
]
# As the workflow reads them.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SCRAPS = [*"{}[],:#&*!|>%@`\"'?-~\t\n \x00\ufeffé", "<<: ", "&a ", "*a ", "!!int ", "? ", "- "]


@given(
    st.sampled_from(OUR_FILES),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5), st.sampled_from(SCRAPS)), max_size=4),
)
@examples(100)
def test_slips_of_an_editor_are_told_in_one_line(tmp_path_factory, file, slips):
    text = file.read_text(encoding="utf-8")
    for where, lost, scrap in slips:
        i = round(where * len(text))
        text = text[:i] + scrap + text[i + lost :]
    if sentence := told(tmp_path_factory.mktemp("slips"), text):
        assert sentence.startswith("config.yaml")
        return
    # What is let through can be loaded, and its mistakes be told.
    root = yaml.load(text, LOADER) or {}
    refusal(content() | ({PAPER: root} if file.parent.name == "config" else root))


@pytest.mark.parametrize("file", OUR_FILES, ids=lambda file: file.name)
def test_our_own_files_pass(file):
    loading.read(file)
