"""Where this checkout is, and whether its config.yaml may be loaded."""

import sys
from pathlib import Path

# Not workflow.basedir: that is the importing workflow's where this one is used as a module.
ROOT = Path(workflow.snakefile).parents[2]
if not (ROOT / "src").is_dir():
    sys.exit(
        f"{workflow.snakefile} is in no checkout; import shufflebounds from a clone of it on disk"
    )
# The library of this checkout, whatever else is installed.
sys.path[:0] = [str(ROOT / folder) for folder in ("src", "workflow")]

import config_check
import config_files


def stop_at_mistakes(check, subject):
    """Run a check of the configuration; jobs, which read this again, need it no more."""
    if workflow.is_main_process:
        try:
            check(subject)
        except config_check.ConfigError as mistake:
            # The sentence alone: Snakemake would add places in this file to an exception.
            sys.exit(str(mistake))


# What the configuration was read from: later files, and options, are merged into the first one.
CONFIG_SOURCE = " with ".join(
    ["config.yaml", *(Path(name).name for name in workflow.overwrite_configfiles)]
    + (["--config"] if workflow.config_settings.config else [])
)

# A module's configuration comes from the workflow that imports it.
if Path(workflow.basedir) == ROOT:
    for name in ("config.yaml", *workflow.overwrite_configfiles):
        if Path(name).is_file():
            stop_at_mistakes(config_files.check, Path(name))
