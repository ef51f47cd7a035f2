"""What can be asked for besides single files: parts of all papers, a paper, a figure."""


rule figures:
    """Every figure of every paper."""
    input:
        for_every_paper(figures),
        gallery(),
    message:
        "every figure"


rule tables:
    """Every table of every paper."""
    input:
        for_every_paper(tables),
    message:
        "every table"


rule claims:
    """The claims of every paper, judged."""
    input:
        for_every_paper(claims),
    message:
        "every claim"


rule verify:
    """Points of every curve of every paper, proven by a second program; nothing else asks for it."""
    input:
        for_every_paper(proofs),
    message:
        "every proof"


for paper in PLAN.papers:

    rule:
        name:
            paper
        input:
            outputs(paper),
        message:
            f"everything of {paper}"

    for figure in PLAN.papers[paper].figures:

        rule:
            name:
                f"{paper}_{figure}"
            input:
                figure_outputs(paper, figure),
            message:
                f"figure {figure} of {paper}"
