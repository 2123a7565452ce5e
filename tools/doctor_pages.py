"""Write down what the doctor says of the programs in docs/doctor/, after its messages have changed.

`python tools/doctor_pages.py [PAGE ...]`; without pages, all.
Numbers are cut off behind their second digit, since the last ones may differ between CPUs; tests/test_docs.py compares the rest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOWN = re.compile(
    r'^```python title="train.py"\n(?P<program>.*?)^```\n\n```console\n\$ python -m adjoint doctor train.py\n(?P<said>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
DIGITS = re.compile(r"(?<![\w.])(-?(?:[1-9]\d*\.\d|0\.0*[1-9]\d?|\d\.\d))\d+(e[-+]\d+)?")


def report_on(program: str) -> str:
    """The doctor's report at the end. What the program prints, and findings as they come, are left out."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(program, encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
        command = [sys.executable, "-m", "adjoint", "doctor", "train.py"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    before, head, report = done.stderr.rpartition("adjoint doctor: ")
    lines = [without_last_digits(line) if line.startswith("  seen: ") else line for line in report.splitlines()]
    return ("...\n" if before.strip() or done.stdout else "\n") + head + "\n".join(lines) + "\n"


def without_last_digits(line: str) -> str:
    """A line that other CPUs will print too.

    >>> without_last_digits("  seen: now 12.3456, rate 1.234e-05, ratio 0.0123, limit 0.5")
    '  seen: now 12.3..., rate 1.2...e-05, ratio 0.012..., limit 0.5'
    """
    return DIGITS.sub(lambda found: f"{found[1]}...{found[2] or ''}", line)


def main(pages: list[Path]) -> None:
    for page in pages:
        text = page.read_text(encoding="utf-8")
        page.write_text(SHOWN.sub(lambda found: found[0].replace(found["said"], report_on(found["program"])), text), encoding="utf-8")


if __name__ == "__main__":
    main([Path(page) for page in sys.argv[1:]] or sorted((ROOT / "docs" / "doctor").glob("*.md")))
