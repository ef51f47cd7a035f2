"""Draw one figure from the tables of its curves."""

import job

with job.running(snakemake) as given:
    import readings
    from shufflebounds.reproduce.configuration import loading
    from shufflebounds.reproduce.plotting import curves, sheets

    paper = loading.trusted(given.config, given.wildcards.paper).papers[given.wildcards.paper]
    layout = paper.layouts[given.wildcards.figure]
    frames = readings.curves(paper, layout.curves, given.input.curves)
    curves.draw(sheets.of_curves(readings.together(frames), layout), given.output)
