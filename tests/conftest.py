"""The browser, for tests that look at pages as a reader does."""

import browsers
import pytest


@pytest.fixture(scope="module")
def chromium():
    """Not for the whole session: while it is open, an event loop runs in this thread."""
    with browsers.chromium() as browser:
        yield browser
