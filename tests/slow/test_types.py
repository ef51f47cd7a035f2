"""What a user writes passes a strict type checker."""

import subprocess
import sys

import pytest
from repository import ROOT

NUMBERS_OF_USERS = """
import numpy as np

import shufflebounds as sb

class Column:  # as that of a data frame
    ndim = 1
    def __len__(self) -> int: return 2
    def tolist(self) -> list[int]: return [1000, 2000]

R = sb.KRR(k=10, eps0=4.0)
for n in (1e5, 100_000, np.int64(100_000), np.array([1000])[0]):
    for end in (
        sb.epsilon(R, n=n, delta=1e-6),
        sb.delta(R, eps=1, n=n),
        sb.advantage(R, n=n),
        sb.renyi(R, order=2, n=n),
        sb.renyi_epsilon(R, n=n, delta=1e-6),
        sb.mechanism_epsilon(R, n=n, delta=1e-6).enclosure,
        sb.most_rounds(R, eps=1, delta=1e-6, n=n),
        sb.profile(R, n=n).advantage(),
        sb.compose([(R, n, 3)]).epsilon(1e-6),
    ):
        print(end.upper)
    print(R.error(n).mse, sb.choose(4, n=n, eps=1.0, delta=1e-6).best.name)
    sb.ShuffleAccountant().compose(R.blanket(), n=n)
for many in (Column(), np.array([1000, 2000]), [1e3, 2e3], [1000, 2000]):
    print(sb.epsilon(R, n=many, delta=1e-6).upper.max())
"""


def code_of_page(name: str) -> str:
    """Return the Python of a page that draws reports and estimates from them."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    [code] = [
        block.partition("```")[0]
        for block in text.split("```python\n")[1:]
        if ".randomizer.estimate(" in block.partition("```")[0]
    ]
    return code


@pytest.mark.parametrize("code", [NUMBERS_OF_USERS, code_of_page("accuracy.md")])
def test_it_passes_mypy(code, tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "program.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
