"""What stops a run before it is planned: results that pass for current."""

from snakemake.io import IOFile

import stale

# The place of an output: below the prefix where this workflow is a module that has one.
placed = workflow.modifier.modify_path


def made(pattern, wildcards):
    """The file that a rule makes for some wildcards."""
    return str(placed(pattern)).format(**wildcards)


def tables_with_parameters():
    """Of every table that says what it was made from: its kind, file and spec."""
    for curve in matrix.curves(config):
        yield curves, made(CURVE, curve._asdict()), matrix.curve_spec(config, curve)
    for name in config.get("distributions", []):
        spec = matrix.distribution_spec(config, name)
        yield distribution, made(DISTRIBUTION, {"distribution": name}), spec


def recorded(path):
    """Whether Snakemake knows how a file was made, and so when to make it again."""
    return workflow.persistence.metadata(IOFile(path)) is not None


def refuse_stale(kind, path, spec):
    """Stop where Snakemake would take a file for current that is not."""
    dag = workflow.dag_settings
    # Whoever forces jobs makes files anew; what is not forced is verified when it is read.
    forced = dag.forceall or dag.forcerun or dag.forcetargets
    if not workflow.is_main_process or forced:
        return
    fault = stale.fault(kind, path, spec, recorded)
    if fault:
        every = [table for table in tables_with_parameters() if stale.fault(*table, recorded)]
        # The sentence alone: Snakemake would add places in this file to an exception.
        sys.exit(stale.refusal([path for _, path, _ in every], fault))
