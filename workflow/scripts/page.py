"""Make HTML of one Markdown page."""

import job

with job.running(snakemake) as given:
    from pathlib import Path

    from reproduction import html_page
    from shufflebounds.curves.files import write_text

    text = html_page.page(Path(given.input.page).read_text(encoding="utf-8"))
    write_text(text, given.output.html)
