"""Vega, which draws interactive figures, from the package `vl_convert`; nothing is fetched."""

from __future__ import annotations

from typing import Any

import vl_convert
from altair import SCHEMA_VERSION, ConcatChart

# That of Altair's specifications: such as 6.4.
VEGA_LITE = SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]


def program() -> str:
    """What draws figures, as one script without dependencies."""
    # As the package itself names it. The name `vega` that it offers is null in this version, and
    # the third of its whole script that is Vega-Lite is of no use to what is compiled already.
    name = f"https://cdn.jsdelivr.net/npm/vega@{vl_convert.get_vega_version()}/+esm"
    snippet = f'import {{View, parse}} from "{name}"; window.vega = {{View, parse}};'
    return vl_convert.javascript_bundle(snippet, vl_version=VEGA_LITE)


def compiled(chart: ConcatChart) -> dict[str, Any]:
    """Vega's specification of a chart."""
    return vl_convert.vegalite_to_vega(chart.to_dict(), vl_version=VEGA_LITE)
