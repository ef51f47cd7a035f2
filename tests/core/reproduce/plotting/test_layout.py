from dataclasses import replace

import pytest
from drawn_data import data, grid, line, panel, row

from shufflebounds.reproduce.plotting import figures
from shufflebounds.reproduce.plotting.layout import Ratio
from shufflebounds.reproduce.plotting.sheets import of_curves


@pytest.mark.parametrize(
    "change", [{"color": "red"}, {"style": "dotted"}, {"marker": "x"}, {"width": 2.0}]
)
def test_lines_with_one_label_and_two_looks_are_refused(change):
    panels = panel(line("clone")), panel(line("clone", regime="large", **change))
    with pytest.raises(ValueError, match=r"^lines with the label 'clone' must look alike, got "):
        row(*panels)


def test_looks_that_are_told_or_left_out_may_be_alike():
    default = line("hoeffding")
    told = line("hoeffding", width=default.width, marker="")
    layout = row(panel(default), panel(told))
    (legend,) = figures.figure(of_curves(data(layout), layout)).legends
    assert [text.get_text() for text in legend.get_texts()] == ["blanket, Hoeffding"]


def test_curves_are_listed_once_with_those_that_others_are_divided_by():
    layout = row(panel(line("upper"), line("lower")), panel(line("upper", regime="large")))
    divisors = (line("clone").curve, line("upper", regime="large").curve)
    with_ratio = replace(layout, ratio=Ratio(divisors, "clone"))
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
        replace(layout, ratio=Ratio((first.curve,), "first")).digest,
        replace(layout, ratio=Ratio((first.curve,), "first", (0.9, 1.0))).digest,
        replace(layout, panels=((panel(replace(first, width=9.0), *others),),)).digest,
    }
    assert len(digests) == 6
    assert grid().digest == layout.digest
