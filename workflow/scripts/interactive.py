"""Make the interactive page of one figure from the tables of its curves."""

import job

with job.running(snakemake) as given:
    from pathlib import Path

    import readings
    from shufflebounds.reproduce.configuration import loading
    from shufflebounds.reproduce.plotting import interactive, sheets
    from shufflebounds.reproduce.storage import write_text

    paper = loading.trusted(given.config, given.wildcards.paper).papers[given.wildcards.paper]
    layout = paper.layouts[given.wildcards.figure]
    frames = readings.curves(paper, layout.curves, given.input.curves)
    program = Path(given.input.program).read_text(encoding="utf-8")
    page = interactive.page(sheets.of_curves(readings.together(frames), layout), program)
    write_text(page, given.output.page)
