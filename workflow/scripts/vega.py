"""Write the program that draws interactive figures."""

import job

with job.running(snakemake) as given:
    from shufflebounds.reproduce.plotting import interactive
    from shufflebounds.reproduce.storage import write_text

    write_text(interactive.program(), given.output.program)
