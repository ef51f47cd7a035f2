"""The browser, for tests that look at pages as a reader does, and devices of their own."""

import os
import stat

import browsers
import pytest


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
