import pytest
from hypothesis import given
from hypothesis import strategies as st

from shufflebounds.curves.plotting.texts import number, plain, typeset, wrapped


@pytest.mark.parametrize(
    ("plain", "drawn"),
    [
        ("which ε₀ for a target ε?", r"which $\varepsilon_0$ for a target $\varepsilon$?"),
        ("δ = 10⁻⁶", r"$\delta$ = 10⁻⁶"),
        ("RAPPOR, D = 3", "RAPPOR, $D$ = 3"),
        ("D → ∞: upper bound", "$D$ → ∞: upper bound"),
        ("upper bound, d = 4", "upper bound, $d$ = 4"),
        ("10-RR and BLH", "10-RR and BLH"),
        ("rate = 3", "rate = 3"),
        ("k-RR of A and B", "k-RR of A and B"),
        (r"$\delta = n$ and δ", r"$\delta = n$ and $\delta$"),
        (r"$D = 3$, ε", r"$D = 3$, $\varepsilon$"),
        (r"5 \$ at D = 3", r"5 \$ at $D$ = 3"),
        ("", ""),
    ],
)
def test_symbols_are_set_in_italics(plain, drawn):
    assert typeset(plain) == drawn
    assert typeset(drawn) == drawn


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.0, "4"),
        (0.1, "0.1"),
        (0.05, "0.05"),
        (1500, "1500"),
        (10_000, "$10^{4}$"),
        (100_000, "$10^{5}$"),
        (2_000_000, r"$2 \cdot 10^{6}$"),
        (1_200_000, r"$1.2 \cdot 10^{6}$"),
        (1_234_567, "1\N{THIN SPACE}234\N{THIN SPACE}567"),
        (1e-6, "$10^{-6}$"),
        (2.5e-9, r"$2.5 \cdot 10^{-9}$"),
    ],
)
def test_numbers_are_written_as_people_write_them(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("low ε₀ = 0.1, δ = 10⁻⁶", 100, ["low ε₀ = 0.1, δ = 10⁻⁶"]),
        ("low ε₀ = 0.1, δ = 10⁻⁶", 14, ["low ε₀ = 0.1,", "δ = 10⁻⁶"]),
        ("low ε₀ = 0.1", 9, ["low", "ε₀ = 0.1"]),
        ("4 × 10-RR and BLH", 10, ["4 × 10-RR", "and BLH"]),
        ("a $x + y$ b", 3, ["a", "$x + y$", "b"]),
        ("a $10^{-6}$ b", 6, ["a $10^{-6}$", "b"]),
        ("an incomprehensible word", 6, ["an", "incomprehensible", "word"]),
        ("", 5, [""]),
    ],
)
def test_long_texts_are_broken_between_words(text, width, lines):
    assert wrapped(text, width) == "\n".join(lines)


@given(
    st.lists(st.sampled_from(["a", "D = 3", "words", "$x + y$", "ε₀ = 0.1", "long" * 9, "4 × a"])),
    st.integers(1, 40),
)
def test_wrapping_loses_nothing_and_is_no_wider_than_it_must_be(words, width):
    text = " ".join(words)
    lines = wrapped(text, width).split("\n")
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    for line in lines:
        assert len(plain(line)) <= width or line in words
