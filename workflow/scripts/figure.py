"""Draw one figure from its curves or its table, with its chart, caption and alternative text."""

import job

with job.running(snakemake) as given:
    import json

    from reproduction import readings
    from shufflebounds.curves.files import write_text
    from shufflebounds.curves.plotting import charts, descriptions, figures

    paper, name = readings.paper(given), given.wildcards.figure
    sheet, caption = readings.sheet(paper, name, given.input.shown), paper.captions[name]
    *pictures, _, _, _ = given.output
    figures.draw(sheet, pictures, source=given.params.digest, style=paper.style)
    write_text(descriptions.markdown(sheet, caption), given.output.caption)
    write_text(descriptions.latex(sheet, caption), given.output.latex)
    write_text(json.dumps(charts.chart(sheet, caption)), given.output.chart)
