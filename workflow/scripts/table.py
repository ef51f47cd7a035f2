"""Compute one table of a paper, and write it as CSV, Markdown and LaTeX."""

import job

with job.running(snakemake) as given:
    from reproduction import readings
    from reproduction.papers import tables as table_files
    from shufflebounds.curves.files import write_text

    paper = readings.paper(given)
    table = paper.tables[given.wildcards.table]
    code = table.kind.load_code()
    frame = code.compute(table.kind, table.context)
    page = code.page(frame)
    table_files.write(frame, table.digest, given.output.csv)
    write_text(page.markdown(), given.output.page)
    write_text(page.latex(), given.output.latex)
