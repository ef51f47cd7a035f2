"""Make the interactive page of one figure from its curves or its table."""

import job

with job.running(snakemake) as given:
    from pathlib import Path

    import readings
    from shufflebounds.reproduce.plotting import interactive
    from shufflebounds.reproduce.storage import write_text

    paper = readings.paper(given)
    sheet = readings.sheet(paper, given.wildcards.figure, given.input.shown)
    program = Path(given.input.program).read_text(encoding="utf-8")
    write_text(interactive.page(sheet, program), given.output.page)
