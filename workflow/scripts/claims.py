"""Judge the claims of a paper by its curves and their run times."""

import job

with job.running(snakemake) as given:
    from reproduction import readings
    from reproduction.papers import claims_page, judging
    from reproduction.papers import tables as table_files
    from reproduction.papers.base import research
    from shufflebounds.curves.files import write_text

    paper = readings.paper(given)
    frames = readings.curves(paper, paper.claimed_curves, given.input.curves)
    evidence = readings.evidence(paper, frames)
    seconds = readings.seconds(frames.values(), given.input.benchmarks)
    content = research(paper.name)
    introduction, claims = content.load_claims()
    judged = judging.check(claims, evidence, seconds)
    table_files.write(judged, given.params.digest, given.output.csv)
    page = claims_page.text(content.citation, introduction, judged, evidence)
    write_text(page, given.output.page)
