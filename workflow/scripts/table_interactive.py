"""Make the interactive page of one figure from a table."""

import job

with job.running(snakemake) as given:
    from pathlib import Path

    import stale
    from shufflebounds.reproduce.configuration import loading
    from shufflebounds.reproduce.papers import base as table_files
    from shufflebounds.reproduce.plotting import interactive
    from shufflebounds.reproduce.storage import write_text

    paper = loading.trusted(given.config, given.wildcards.paper).papers[given.wildcards.paper]
    table = paper.tables[paper.drawn_tables[given.wildcards.figure]]
    stale.require(lambda path: table_files.verify(path, table.digest), given.input.csv)
    frame, title = table_files.read(given.input.csv), paper.titles[given.wildcards.figure]
    program = Path(given.input.program).read_text(encoding="utf-8")
    sheet = table.kind.load_code().sheet(frame, title)
    write_text(interactive.page(sheet, program), given.output.page)
