"""Draw one figure from its curves or its table, and write its caption and alternative text."""

import job

with job.running(snakemake) as given:
    import readings
    from shufflebounds.reproduce.plotting import descriptions, figures
    from shufflebounds.reproduce.storage import write_text

    paper, name = readings.paper(given), given.wildcards.figure
    sheet, caption = readings.sheet(paper, name, given.input.shown), paper.captions[name]
    figures.draw(sheet, given.output[:-2], source=given.params.digest)
    write_text(descriptions.markdown(sheet, caption), given.output.caption)
    write_text(descriptions.latex(sheet, caption), given.output.latex)
