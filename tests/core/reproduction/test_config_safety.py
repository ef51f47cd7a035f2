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
from reproduction.configuration.loading import ConfigError

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
    "curves": {"distance1": {"bound": "upper", "k_joint": 2, "distance": 1}},
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


@pytest.mark.parametrize("section", ["experiments", "regimes", "figures", "curves", "tables"])
def test_names_that_differ_in_case_alone_are_refused(section):
    config = copy.deepcopy(FULL)
    name = next(iter(config[PAPER][section]))
    config[PAPER][section][name.upper()] = config[PAPER][section][name]
    assert f"{section}: {name} and {name.upper()} differ in case alone" in refusal(config)


@pytest.mark.parametrize(
    ("path", "text", "sentence"),
    [
        (
            ("regimes", "low", "label"),
            "low $",
            r"regimes.low.label is 'low $', with a $ too few or too many; for the sign itself "
            r"write \$",
        ),
        (
            ("style", "curves", "clone"),
            r"$\input{/etc/passwd}$",
            r"style.curves.clone is '$\\input{/etc/passwd}$', with a formula that "
            "Matplotlib cannot draw",
        ),
        (
            ("figures", "cdf", "title"),
            "$" + "{" * 90 + "$",
            f"figures.cdf.title is '${'{' * 90}$', with a formula that Matplotlib cannot draw",
        ),
        (
            ("figures", "fig", "title"),
            r"$\log_{10}$ of {paper}",
            r"figures.fig.title is '$\\log_{10}$ of {paper}'; outside formulas it must have no "
            "braces, which the report of Snakemake takes for a wildcard",
        ),
        (
            ("figures", "lines", "lines", 0, "label"),
            "_hidden",
            "figures.lines.lines[0].label is '_hidden'; it must not begin with _, which hides it "
            "from the legend",
        ),
        (
            ("figures", "fig", "caption"),
            "<b>bold</b>",
            "figures.fig.caption holds '<b', which begins an HTML tag; put a blank after the <",
        ),
        (
            ("figures", "fig", "caption"),
            "one\n.. include:: /etc/passwd",
            r"figures.fig.caption is 'one\n.. include:: /etc/passwd'; it must be a single line of "
            "printable characters",
        ),
    ],
    ids=[
        "unpaired",
        "unknown macro",
        "deep",
        "braces",
        "underscore",
        "tag",
        "lines",
    ],
)
def test_texts_that_cannot_be_shown_are_refused(path, text, sentence):
    assert refusal(with_value((PAPER, *path), text)) == f"config/{PAPER}.yaml: {sentence}"


@pytest.mark.parametrize("text", [r"$\varepsilon_0$ = 1", r"costs \$5", "n < 5", "50 %", "a_b"])
def test_ordinary_texts_are_taken(text):
    assert refusal(with_value((PAPER, "regimes", "low", "label"), text)) is None


def told(folder, text) -> str | None:
    """What is said of a file with this text; None where nothing is."""
    file = folder / "config.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    try:
        loading.check(file)
    except ConfigError as mistake:
        sentence = str(mistake)
    else:
        return None
    assert sentence.isprintable()
    return sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("delta: 1\nn: 2\ndelta: 3\n", "'delta' is given twice, on lines 1 and 3; give it once"),
        ("a: {b: 1, b: 2}\n", "'b' is given twice, on line 1; give it once"),
        ("a: 1\n'a': 2\n", "'a' is given twice, on lines 1 and 2; give it once"),
        (
            "a:\n  - !!python/object/apply:os.system ['touch x']\n",
            "the tag !!python/object/apply:os.system on line 2 is not allowed; write plain values",
        ),
        ("a: !load x\n", "the tag !load on line 1 is not allowed; write plain values"),
        (
            "__use_yte__: true\na: ?__import__('os').system('touch x')\n",
            "__use_yte__ on line 1 is not allowed: it makes text run as Python",
        ),
        ("? [a, b]\n: 1\n", "the key on line 1 is a list or a mapping; keys must be text"),
        ("a: 1:30\n", "1:30 on line 1 is a number, but not a plain decimal one such as 1.0e-6"),
        ("a: 010\n", "010 on line 1 is a number, but not a plain decimal one"),
        ("a: 0x_\n", "0x_ on line 1 is a number, but not a plain decimal one"),
        (f"a: {'9' * 5000}\n", f"{'9' * 20}… on line 1 is a number, but not a plain decimal one"),
        (f"a: 0x{'f' * 5000}\n", f"0x{'f' * 18}… on line 1 is a number, but not a plain"),
        ("a: !!int abc\n", "abc on line 1 is a number, but not a plain decimal one"),
        ("a: !!bool maybe\n", "maybe on line 1 is neither true nor false"),
        ("a: 2020-13-45\n", "2020-13-45 on line 1 is a date for YAML; in quotes it is text"),
        ("a: !!map x\n", "the tag !!map on line 1 is not allowed"),
        ("<<: 5\n", "<< on line 1 must have an alias of a mapping"),
        ("a: &k {b: 1, c: *k}\n", "what begins on line 1 contains itself, by an alias"),
        ("a: &k\n  b: [1, [*k]]\n", "what begins on line 1 contains itself, by an alias"),
    ],
)
def test_what_yaml_hides_or_runs_or_chokes_on_is_refused(tmp_path, text, sentence):
    assert told(tmp_path, text).startswith(f"config.yaml: {sentence}")


def test_a_colour_without_quotes_is_told_as_such(tmp_path):
    text = "a:\n  b: {color: #0072b2, line: solid}\n  c: {x: 1}\n"
    assert "an unquoted # begins a comment" in told(tmp_path, text)


@pytest.mark.parametrize("depth", [101, 3000, 100_000])
def test_what_is_nested_too_deep_is_refused(tmp_path, depth):
    text = "a: " + "[" * depth + "]" * depth
    assert "is nested too deep: at most 100 levels" in told(tmp_path, text)


def with_aliases(levels: int, entry: str) -> str:
    """Text in which `entry` stands on every level, @ for an alias of the level below."""
    above = (f"a{i}: &a{i} {entry.replace('@', f'*a{i - 1}')}\n" for i in range(1, levels))
    return "".join(["a0: &a0 {x: 1}\n", *above])


@pytest.mark.parametrize(
    ("levels", "entry", "sentence"),
    [
        (7, f"{{<<: [{', '.join(['@'] * 9)}]}}", "is too long: with its aliases written out, at"),
        (90, "[@, @]", "is too long: with its aliases written out, at most 100000 keys and values"),
        (101, "[@]", "is nested too deep: at most 100 levels are allowed"),
        (3000, "{<<: @}", "is nested too deep: at most 100 levels are allowed"),
    ],
)
def test_aliases_that_stand_for_too_much_are_refused(tmp_path, levels, entry, sentence):
    assert told(tmp_path, with_aliases(levels, entry)).startswith(f"config.yaml {sentence}")


NUMERALS = "0 -3 +7 1_000 1.5 .5 5. 1.0e-6 -2.5E+300 0.1 .inf -.INF .nan"


@pytest.mark.parametrize("value", NUMERALS.split())
def test_plain_numbers_pass(tmp_path, value):
    assert told(tmp_path, f"a: {value}\n") is None
    assert isinstance(yaml.safe_load(f"a: {value}\n")["a"], int | float)


@pytest.mark.parametrize("content", [b"a: [1", b"a: b: c", b"\ta: 1", b"a: \xff", b"a: *b", b"\0"])
def test_what_is_no_yaml_is_refused_in_one_line(tmp_path, content):
    assert told(tmp_path, content).startswith("config.yaml ")


@pytest.mark.parametrize("text", ["x: [*both, 1]\n", "x: {<<: *both}\n", "\nx: *both\n"])
def test_an_alias_of_nothing_is_named(tmp_path, text):
    line = 3 if text.startswith("\n") else 2
    sentence = f"config.yaml is not valid YAML: *both on line {line} has no anchor & above it"
    assert told(tmp_path, f"é: 1\n{text}") == sentence


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
    loading.check(file)
