"""Draw one figure from its curves or its table, with its chart, caption and alternative text."""

import job

with job.running(snakemake) as given:
    import json
    import sys

    from reproduction import charts, descriptions, readings
    from shufflebounds.curves.files import write_text
    from shufflebounds.curves.plotting import figures

    paper, name = readings.paper(given), given.wildcards.figure
    sheet, checks = readings.figure(paper, name, given.input.shown)
    caption = paper.captions[name]
    for check in checks:
        print(f"{paper.name}/{name}: {check}", file=sys.stderr)
        if not check.is_true:
            print(f"The title of {paper.name}/{name} is not shown: {check}", file=sys.__stderr__)
    *pictures, _, _, _ = given.output
    figures.draw(sheet, pictures, source=given.params.digest, style=paper.style)
    text = descriptions.markdown(sheet, caption, list(map(str, checks)))
    write_text(text, given.output.caption)
    write_text(descriptions.latex(sheet, caption, paper.style), given.output.latex)
    write_text(json.dumps(charts.chart(sheet, caption)), given.output.chart)
