"""What all folders of tests share: the browser, devices, and how two workers divide the files."""

import os
import stat

import browsers
import pytest
from xdist.scheduler import LoadScopeScheduling

# Printed answers are compared at this width, whatever terminal runs the tests.
os.environ["COLUMNS"] = "80"

# Files that look at the same run of Snakemake: one worker makes it, and has them all.
SHARED_RUNS = {
    "test_report.py": "whole",
    "test_module.py": "whole",
    "test_faults.py": "undisturbed",
    "test_stale.py": "undisturbed",
    "test_slurm.py": "local",
    "test_cluster_generic.py": "local",
}


class WholeFiles(LoadScopeScheduling):
    """Gives a worker whole files, so that what a file makes once is made once.

    Not by marks of groups: pytest 9.2 loses what xdist 3.8 makes of them, without a word.
    """

    def _split_scope(self, nodeid):
        file = nodeid.split("::")[0].rsplit("/", 1)[-1]
        return SHARED_RUNS.get(file, file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return WholeFiles(config, log)


def pytest_collection_modifyitems(items):
    """Long ones first."""
    items.sort(key=lambda item: ("workflow" not in item.path.parts, "slow" not in item.path.parts))


@pytest.fixture(scope="module")
def chromium():
    """Not for the whole session: while it is open, an event loop runs in this thread."""
    with browsers.chromium() as browser:
        yield browser


@pytest.fixture
def device(tmp_path):
    """Makes a node like /dev/zero (5) or /dev/full (7), which a test may lose without harm."""

    def make(name, minor):
        path = tmp_path / name
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
            os.close(os.open(path, os.O_RDWR))
        except PermissionError:
            pytest.skip("only root makes devices, and not on every file system")
        return path

    return make
