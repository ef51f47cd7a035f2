"""Put the charts of all figures of all papers on one page."""

import job

with job.running(snakemake) as given:
    import json
    from pathlib import Path

    from reproduction import charts
    from shufflebounds.curves.files import write_text

    papers = {title: {} for title in given.params.titles.values()}
    for path in map(Path, given.input.charts):
        paper = path.parent.name
        chart = json.loads(path.read_text(encoding="utf-8"))
        papers[given.params.titles[paper]][f"{paper}/{path.stem}"] = chart
    write_text(charts.page(papers), given.output.page)
