from dataclasses import replace

import pytest
from drawn_data import grid, line, panel, row

from shufflebounds.curves.plotting.looks import DOTTED, Look


@pytest.mark.parametrize(
    "change", [{"color": "red"}, {"dashes": DOTTED}, {"marker": "x"}, {"width": 2.0}]
)
def test_lines_with_one_label_and_two_looks_are_refused(change):
    look = replace(line("clone").look, **change)
    panels = panel(line("clone")), panel(line("clone", regime="large", look=look))
    with pytest.raises(ValueError, match=r"^lines with the label 'clone' must look alike: "):
        row(*panels)


def test_curves_are_listed_once_with_those_that_others_are_divided_by():
    layout = row(panel(line("upper"), line("lower")), panel(line("upper", regime="large")))
    ratios = tuple(replace(shown, divisor=line("clone").curve) for shown in layout.panels[0])
    with_ratio = replace(layout, panels=(*layout.panels, ratios))
    assert list(map(str, layout.curves)) == [
        "krr10/low/upper",
        "krr10/low/lower",
        "krr10/large/upper",
    ]
    assert list(map(str, with_ratio.curves)) == [*map(str, layout.curves), "krr10/low/clone"]


def test_the_digest_stands_for_everything():
    layout = grid()
    first, *others = layout.panels[0][0].lines
    digests = {
        layout.digest,
        replace(layout, title="Another").digest,
        replace(layout, transform="expm1").digest,
        replace(layout, divisor="first").digest,
        replace(layout, divisor="first", limits=(0.9, 1.0)).digest,
        replace(layout, panels=((panel(replace(first, look=Look("red")), *others),),)).digest,
    }
    assert len(digests) == 6
    assert grid().digest == layout.digest
