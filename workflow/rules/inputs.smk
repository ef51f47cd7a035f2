"""What the jobs of each rule are made from, and the refusal of files that are not what is wanted."""

from snakemake.io import IOFile

from reproduction import stale

from shufflebounds.curves import curve as curve_files
from reproduction.papers import tables as table_stamp
from shufflebounds.curves.plotting.texts import plain
from shufflebounds.curves.storage import CurveName as Name


def part(wildcards, parts, kind, name):
    """A part of a paper's plan; the run ends with a sentence where it has none of that name."""
    found = getattr(PLAN.papers[wildcards.paper], parts).get(name)
    if found is None:
        # The sentence alone: Snakemake would add places in this file to an exception.
        sys.exit(f"config/{wildcards.paper}.yaml asks for no {kind} {name}")
    return found


def specification(wildcards):
    name = Name(wildcards.experiment, wildcards.regime, wildcards.curve)
    return part(wildcards, "curves", "curve", name)


def table(wildcards):
    return part(wildcards, "tables", "table", wildcards.table)


def curve_inputs(wildcards):
    wanted = specification(wildcards)
    name = Name(wildcards.experiment, wildcards.regime, wildcards.curve)
    refuse_stale(verify_curve(name, wanted), made(CURVE, **wildcards))
    # What a mechanism reads lies where the project is, as its configuration says: the prefix of a
    # module is for what it makes.
    return [local(file) for file in wanted.reports.files]


def table_inputs(wildcards):
    refuse_stale(verify_table(table(wildcards)), made(f"{TABLE}.csv", **wildcards))
    return []


def figure_inputs(wildcards):
    """The curves that a figure draws, or its table."""
    drawn = part(wildcards, "figures", "figure", wildcards.figure)
    if isinstance(drawn, str):
        return f"{TABLE}.csv".format(paper=wildcards.paper, table=drawn)
    return files(CURVE, wildcards.paper, drawn.curves)


def figure_digest(wildcards):
    drawn = part(wildcards, "figures", "figure", wildcards.figure)
    if isinstance(drawn, str):
        # The table's own digest is among what its file says.
        return PLAN.papers[wildcards.paper].titles[wildcards.figure]
    return drawn.digest


def figure_caption(wildcards):
    paper = PLAN.papers[wildcards.paper]
    return f"{plain(paper.titles[wildcards.figure])}. {paper.captions[wildcards.figure]}"


def claimed(pattern):
    """Files of every curve that a claim of the paper is measured on."""

    def of_paper(wildcards):
        curves = PLAN.papers[wildcards.paper].claimed_curves
        return files(pattern, wildcards.paper, curves)

    return of_paper


# The place of an output: below the prefix where this workflow is a module that has one.
placed = workflow.modifier.modify_path


def made(pattern, **wildcards):
    """The file that a rule makes for some wildcards."""
    return str(placed(pattern)).format(**wildcards)


def stamped_files():
    """Every file that says what it was made from, and how to verify that."""
    for paper in PLAN.papers.values():
        for name, wanted in paper.curves.items():
            yield verify_curve(name, wanted), made(CURVE, paper=paper.name, **vars(name))
        for table in paper.tables.values():
            path = made(f"{TABLE}.csv", paper=paper.name, table=table.name)
            yield verify_table(table), path


def verify_curve(name, wanted):
    return functools.partial(curve_files.verify, name=name, specification=wanted)


def verify_table(table):
    return functools.partial(table_stamp.verify, digest=table.digest)


def recorded(path):
    """Whether Snakemake knows how a file was made, and so when to make it again."""
    return workflow.persistence.metadata(IOFile(path)) is not None


def refuse_stale(verify, path):
    """Stop where Snakemake would take a file for current that is not."""
    dag = workflow.dag_settings
    # Whoever forces jobs makes files anew; what is not forced is verified when it is read.
    forced = dag.forceall or dag.forcerun or dag.forcetargets
    if not workflow.is_main_process or forced:
        return
    fault = stale.fault(verify, path, recorded)
    if fault:
        every = [made for verify, made in stamped_files() if stale.fault(verify, made, recorded)]
        # The sentence alone: Snakemake would add places in this file to an exception.
        sys.exit(stale.refusal(every, fault))
