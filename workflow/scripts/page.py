"""Make HTML of one Markdown page."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
root = Path(snakemake.scriptdir).resolve().parents[1]
sys.path[:0] = [str(root / "src"), str(root / "workflow")]

import failures
import html_page
from shufflebounds.files import written_whole

with failures.told(snakemake.output):
    text = html_page.page(Path(snakemake.input.page).read_text(encoding="utf-8"))
    with written_whole(Path(snakemake.output.html)) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
