"""What needs names that are Snakemake's own affair (of the version that is pinned)."""

from snakemake.io import IOFile
from snakemake.logging import logger

import messages
import stale

from shufflebounds.experiments import curve as curve_files
from shufflebounds.papers import table_stamp

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


def tell_briefly(record):
    """Say why a job runs where an edit is the reason, and what may be asked for; no more."""
    if getattr(record, "exception", None) == "MissingRuleException":
        record.msg = messages.unknown_target(
            record.msg, {name: outputs(name) for name in PLAN.papers}
        )
    if getattr(record, "rule_msg", None) and getattr(record, "reason", None):
        reason = messages.why(record.reason)
        record.rule_msg += f"\n    {reason}" if reason else ""
    return not messages.is_noise(record.msg)


# How an importing workflow's run looks is its own affair.
if not IS_MODULE:
    logger.addFilter(tell_briefly)


onstart:
    # Snakemake would stop at the first job, with a traceback.
    for folder in ("results", "figures"):
        usable = os.path.isdir(folder) and os.access(folder, os.W_OK)
        if os.path.lexists(folder) and not usable:
            sys.exit(f"{folder} cannot be written to, so nothing was run")
    if workflow.local_exec:
        # Snakemake limits how many jobs start per second, and for that looks through all waiting
        # jobs once a second for each that has ended: a fifth of the CPU time of a whole run. The
        # cores are limit enough here.
        workflow.scheduler.job_rate_limiter = None
