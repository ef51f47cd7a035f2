"""Prove points of a paper's curves by the second program, as CSV and Markdown."""

import job

with job.running(snakemake) as given:
    from pathlib import Path

    from reproduction import proofs, readings
    from reproduction.papers import tables as table_files
    from shufflebounds.curves.files import write_text

    paper = readings.paper(given)
    frames = readings.curves(paper, tuple(paper.curves), given.input.curves)
    found = proofs.table(paper.curves, frames, Path(given.input.program))
    table_files.write(found, given.params.numbers.split()[-1], given.output.csv)
    write_text(proofs.page(found).markdown(), given.output.page)
