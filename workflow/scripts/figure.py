"""Draw one figure from its curves or its table."""

import job

with job.running(snakemake) as given:
    import readings
    from shufflebounds.reproduce.configuration import checks
    from shufflebounds.reproduce.plotting import figures

    paper = checks.trusted(given.config, given.wildcards.paper).papers[given.wildcards.paper]
    figures.draw(readings.sheet(paper, given.wildcards.figure, given.input.shown), given.output)
