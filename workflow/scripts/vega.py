"""Write the program that draws interactive figures."""

import job

with job.running(snakemake) as given:
    from shufflebounds.experiments.files import write_text
    from shufflebounds.plotting import vega

    write_text(vega.program(), given.output.program)
