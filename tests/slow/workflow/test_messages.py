"""What a run says of a job's reason, and leaves unsaid."""

import pytest

from reproduction import messages


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
        (
            "Params have changed since last execution: Union of exclusive params before and now: "
            "before: 'code of numbers 01' now: 'code of numbers 23' ",
            "Params have changed since last execution: code of numbers",
        ),
        ("Forced execution", "Forced execution"),
    ],
)
def test_a_reason_is_a_line(reason, expected):
    assert messages.why(reason) == expected


MADE = {
    "gap": ["figures/gap/few.pdf", "figures/gap/few.png", "figures/gap/blh.pdf"],
    "su2026": ["results/su2026/tables/table1.csv"],
}
PAPERS = (
    "it must be all, figures, tables, claims, a paper (gap, su2026), <paper>_<figure> "
    "or a file of one"
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            "figures/gap/fewer.png",
            "(did you mean figures/gap/few.png?); figures/gap may have few, blh (.pdf, .png)",
        ),
        ("figures/gap/x.png", "; figures/gap may have few, blh (.pdf, .png)"),
        ("figures/gpa/few.png", f"(did you mean figures/gap/few.png?); {PAPERS}"),
        ("su206", f"(did you mean su2026?); {PAPERS}"),
        ("nonsense", f"; {PAPERS}"),
        ("few", f"(did you mean gap_few?); {PAPERS}"),
        ("gap/few.pdf", f"(did you mean gap_few?); {PAPERS}"),
        ("figures/su2026", f"(did you mean su2026?); {PAPERS}"),
    ],
)
def test_of_an_unknown_target_it_is_told_what_there_is(target, expected):
    said = messages.unknown_target(
        f"MissingRuleException:\nNo rule to produce {target} (if you use input functions make sure "
        "that they don't raise unexpected exceptions).",
        MADE,
    )
    assert said.removeprefix(f"No rule makes {target}").lstrip() == f"{expected}."


def test_a_rule_with_wildcards_is_told_to_be_no_target():
    said = messages.target_of_many_files(
        "WorkflowError:\nTarget rules may not contain wildcards. Please specify …", MADE
    )
    assert said == (
        "A rule of many files, such as figure, table or curve, is no target, since it does not say "
        "which file is meant; a target is all, figures, tables, claims, a paper (gap, su2026), "
        "<paper>_<figure> or a file of one."
    )
    other = "WorkflowError:\nFailed to open the cluster's log."
    assert messages.target_of_many_files(other, MADE) == other


@pytest.mark.parametrize(
    ("source", "papers", "others"),
    [
        ("config/gap.yaml", ["gap", "blh", "krr"], "blh,krr"),
        ("config/krr.yaml with more.yaml", ["gap", "blh", "krr"], "gap,blh"),
        ("config/gap.yaml", ["gap"], ""),
        ("config.yaml", ["gap", "blh"], ""),
        ("config.yaml", "gap", ""),
        ("config.yaml", None, ""),
    ],
)
def test_a_mistake_in_one_paper_says_how_to_run_the_others(source, papers, others):
    sentence = f"{source}: title is missing"
    told, _, more = messages.mistake(sentence, papers).partition("\n")
    assert told == sentence
    assert more == (f"Other papers run meanwhile with --config 'papers=[{others}]'" * bool(others))
