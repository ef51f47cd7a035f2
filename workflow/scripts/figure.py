"""Draw one figure from its curves or its table."""

import job

with job.running(snakemake) as given:
    import readings
    from shufflebounds.reproduce.plotting import figures

    paper = readings.paper(given)
    figures.draw(readings.sheet(paper, given.wildcards.figure, given.input.shown), given.output)
