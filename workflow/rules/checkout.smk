"""Where this checkout is, and what it is configured by."""

import sys
from pathlib import Path

# Not workflow.basedir: that is the importing workflow's where this one is used as a module.
ROOT = Path(workflow.snakefile).resolve().parents[2]
if not (ROOT / "src").is_dir():
    sys.exit(
        f"{workflow.snakefile} is in no checkout; import shufflebounds from a clone of it on disk"
    )
# The library of this checkout, whatever else is installed.
sys.path[:0] = [str(ROOT / folder) for folder in ("src", "workflow")]

import messages
import papers_files
from shufflebounds.experiments.configuration import yaml_files
from shufflebounds.experiments.configuration.errors import ConfigError

# A module's configuration comes whole from the workflow that imports it.
IS_MODULE = Path(workflow.basedir).resolve() not in (ROOT, ROOT / "workflow")


def or_exit(function, *arguments):
    """What a function returns; the run ends with the sentence of a mistake in the configuration."""
    try:
        return function(*arguments)
    except ConfigError as mistake:
        # The sentence alone: Snakemake would add places in this file to an exception.
        sys.exit(messages.mistake(str(mistake), config.get("papers")))


# Before Snakemake reads them: what YAML hides, and what would run.
if not IS_MODULE and workflow.is_main_process:
    for name in ("config.yaml", *workflow.overwrite_configfiles):
        if Path(name).is_file():
            or_exit(yaml_files.check, Path(name))
