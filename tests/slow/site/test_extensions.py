"""What the documentation site adds to Sphinx: formulas, indices in running text, entries."""

import sys

import pytest
import yaml
from markdown_pages import ROOT

pytest.importorskip("sphinx", reason="requirements-docs.txt is not installed")
sys.path.append(str(ROOT / "docs" / "_ext"))

import formulas
import gallery
import indices


@pytest.mark.parametrize("paper", sorted((ROOT / "config").glob("*.yaml")), ids=lambda p: p.stem)
def test_entries_are_the_lines_of_the_file(paper):
    text = paper.read_text(encoding="utf-8")
    entries = gallery.entries_of_figures(text)
    assert list(entries) == list(yaml.safe_load(text).get("figures", {}))
    for name, entry in entries.items():
        assert entry.startswith(f"{name}:")
        assert all(line.startswith("  ") for line in entry.splitlines()[1:] if line)
        indented = "\n".join(f"  {line}" if line else "" for line in entry.splitlines())
        assert indented in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e^{θS − nK(θ)} f", "e<sup>θS − nK(θ)</sup> f"),
        (
            "Σ_{c_j=0}(a_j − e^ε b_j)",
            "Σ<sub>c<sub>j</sub>=0</sub>(a<sub>j</sub> − e<sup>ε</sup> b<sub>j</sub>)",
        ),
        (
            "(1 − r)^n, P̃_k, q₁W_i, ΣG_i",
            "(1 − r)<sup>n</sup>, P̃<sub>k</sub>, q₁W<sub>i</sub>, ΣG<sub>i</sub>",
        ),
        ("h_rev, h*_k, inf_x", "h<sub>rev</sub>, h*<sub>k</sub>, inf<sub>x</sub>"),
        ("k_joint, test_a_b, a_jb, 2^-53", "k_joint, test_a_b, a_jb, 2<sup>-53</sup>"),
    ],
)
def test_indices_of_letters_are_set_and_names_are_left_alone(text, expected):
    names = {"subscript": "sub", "superscript": "sup"}

    def shown(node):
        if node.tagname == "#text":
            return node.astext()
        inner = "".join(map(shown, node.children))
        return f"<{names[node.tagname]}>{inner}</{names[node.tagname]}>"

    assert "".join(map(shown, indices.parts(text))) == expected


def test_a_formula_that_cannot_be_set_is_named():
    with pytest.raises(ValueError, match=r"unheardof.*cannot be set"):
        formulas.element(r"\unheardof{x}", block=True)
