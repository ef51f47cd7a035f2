"""Put all figures of a paper on one page."""

import job

with job.running(snakemake) as given:
    from pathlib import Path

    from shufflebounds.reproduce.plotting import gallery
    from shufflebounds.reproduce.storage import write_text

    pages = [Path(file).read_text(encoding="utf-8") for file in given.input.pages]
    pictures = [Path(file).read_bytes() for file in given.input.pictures] or [None] * len(pages)
    program = Path(given.input.program).read_text(encoding="utf-8")
    entries = list(map(gallery.Entry, given.params.titles, pages, pictures))
    write_text(gallery.page(given.params.title, entries, program), given.output.page)
