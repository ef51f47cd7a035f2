"""Put all figures of all papers on one page."""

import job

with job.running(snakemake) as given:
    from pathlib import Path

    from shufflebounds.reproduce.plotting import interactive
    from shufflebounds.reproduce.storage import write_text

    pages = [Path(file).read_text(encoding="utf-8") for file in given.input.pages]
    pictures = [Path(file).read_bytes() for file in given.input.pictures] or [None] * len(pages)
    shown = iter(zip(pages, pictures, strict=True))
    papers = {
        paper: [interactive.Thumbnail(title, *next(shown)) for title in titles]
        for paper, titles in given.params.papers
    }
    program = Path(given.input.program).read_text(encoding="utf-8")
    write_text(interactive.gallery(papers, program), given.output.page)
