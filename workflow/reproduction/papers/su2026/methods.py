"""The diagram of methods, Figure 1 of arXiv 2504.07414.

The text of the paper that is at hand has the caption of this figure but not its picture. Boxes and
arrows are those of the text, which says of each arrow where it is shown; config/su2026.yaml has
them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.papers.pages import Page
from reproduction.papers.su2026 import Methods
from reproduction.papers.tables import Context
from shufflebounds.curves.plotting.layout import Line
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.sheets import Box, Drawn, PanelView, Sheet

# Width of every row of boxes, in units of the distance of two boxes in a row of two.
WIDTH = 2.0

# Where an arrow is shown to hold.
PAPER = "in the paper"
HERE = "here"

# The looks of arrows, by where they are shown to hold.
LOOKS = {PAPER: line_look("lower"), HERE: line_look("stronger_clone")}

# The label below the diagram.
MEANING = "an arrow leads to a bound that is no larger (dashed: proven here, not in the paper)"


def methods_table(parameters: Methods, _: Context) -> pd.DataFrame:
    """Return the arrows, one a row, with the texts and places of the boxes at both ends."""
    boxes = {
        name: Box(text, (i + 0.5) * WIDTH / len(row), float(len(parameters.rows) - 1 - level))
        for level, row in enumerate(parameters.rows)
        for i, (name, text) in enumerate(row.items())
    }
    rows = []
    for arrow in parameters.arrows:
        start, end = boxes[arrow.start], boxes[arrow.end]
        rows.append(
            {
                "start": start.text,
                "end": end.text,
                "why": arrow.why,
                "shown": HERE if arrow.is_ours else PAPER,
                "start_x": start.x,
                "start_y": start.y,
                "end_x": end.x,
                "end_y": end.y,
            }
        )
    return pd.DataFrame(rows)


def methods_page(frame: pd.DataFrame) -> Page:
    """Return the arrows as a list."""
    return Page.of(
        frame,
        [
            ("from", "{start}"),
            ("to a bound that is no larger", "{end}"),
            ("why", "{why}"),
        ],
        title="The hierarchy of methods",
        above="The arrows of the diagram: the second bound is at most the first.",
    )


def methods_sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """Return the diagram."""
    boxes: dict[Box, None] = {}
    lines = []
    for row in frame.to_dict("records"):
        start = Box(row["start"], row["start_x"], row["start_y"])
        end = Box(row["end"], row["end_x"], row["end_y"])
        boxes |= {start: None, end: None}
        places = np.array([[start.x, end.x], [start.y, end.y]])
        line = Line(f"shown {row['shown']}", LOOKS[row["shown"]], name=row["why"])
        lines.append((line, Drawn.line(*places)))
    view = PanelView((), lines, "", boxes=tuple(boxes))
    return Sheet(title, [[view]], MEANING, "method", "bound")
