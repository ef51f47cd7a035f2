"""Whether everything in a figure has its place: nothing cut, nothing over anything else."""

import itertools

import pytest
from matplotlib.text import Text
from matplotlib.transforms import Bbox


def assert_everything_has_its_place(fig):
    fig.draw_without_rendering()
    assert fig.get_figwidth() in (3.5, 7.16)
    assert fig.get_figheight() <= 10.6
    labels = [text for text in fig.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in labels) >= 7.0

    titles = [text for text in fig.texts if text.get_text()]
    boxes = [artist.get_window_extent() for artist in (*fig.legends, *titles)]
    boxes += [ax.get_tightbbox() for ax in fig.axes]
    inside = fig.bbox.padded(1.0)
    for box in boxes:
        assert Bbox.intersection(box, inside).bounds == pytest.approx(box.bounds)
    assert_apart(boxes)
    for ax in fig.axes:
        assert ax.bbox.height > 60.0
        assert ax.bbox.width > 60.0
        ticks = [*ax.get_xticklabels(which="both"), *ax.get_yticklabels(which="both")]
        boxes = [text.get_window_extent() for text in ticks if text.get_visible()]
        seen = ax.bbox.padded(40.0)
        assert_apart([box for box in boxes if box.width and Bbox.intersection(box, seen)])


def assert_apart(boxes):
    for one, other in itertools.combinations(boxes, 2):
        overlap = Bbox.intersection(one, other)
        assert overlap is None or min(overlap.width, overlap.height) < 1.0
