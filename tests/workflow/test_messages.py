"""What a run says of a job's reason, and leaves unsaid."""

import pytest

import messages


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("Missing output files: a.csv, b.csv; Input files updated by another job: c.csv", ""),
        ("Updated input files: src/b.py", "Updated input files: src/b.py"),
        ("Updated input files: src/b.py, src/a.py", "Updated input files: src/a.py and 1 more"),
        (
            "Missing output files: a; Code has changed since last execution; "
            "Params have changed since last execution: before: 'a' now: 'b'",
            "Code has changed since last execution; Params have changed since last execution",
        ),
        ("Forced execution", "Forced execution"),
    ],
)
def test_a_reason_is_a_line(reason, expected):
    assert messages.why(reason) == expected


def test_what_tells_nothing_is_left_out():
    assert messages.is_noise("Select jobs to execute...")
    assert messages.is_noise("Execute 2 jobs...")
    assert not messages.is_noise("3 of 4 steps (75%) done")
    assert not messages.is_noise(OSError("Execution"))
