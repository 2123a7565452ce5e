"""What keeps the source fit to be read: the size of its files and functions, and how much code is made at run time."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import adjoint as ad
from adjoint.ops._codegen import function_text
from adjoint.ops._registry import OPS

PACKAGE = Path(ad.__file__).parent
LINES_OF_A_FILE = 600
LINES_OF_A_FUNCTION = 120
LINES_MADE_FOR_AN_OP = 280

FIRST_CALL = """
import json, sys
import adjoint as ad
from adjoint.ops._registry import OPS

made = []
def note(event, args):
    if event == "compile" and str(args[1]).startswith("<adjoint "):
        source = args[0]
        made.append(len((source.decode() if isinstance(source, bytes) else source).splitlines()))
sys.addaudithook(note)

before = sum(len(op.variants) for op in OPS.values())
layer = ad.nn.LSTM(8, 16)
result, _ = layer(ad.ones(5, 3, 8))
result.sum().backward()
print(json.dumps([len(made), sum(made), sum(len(op.variants) for op in OPS.values()) - before]))
"""


@cache
def sources() -> dict[str, str]:
    return {str(path.relative_to(PACKAGE)): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


def test_no_file_is_too_long() -> None:
    lengths = {name: text.count("\n") for name, text in sources().items()}
    assert {name: length for name, length in lengths.items() if length > LINES_OF_A_FILE} == {}, "split them by idea"


def test_no_function_is_too_long() -> None:
    long = {}
    for name, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > LINES_OF_A_FUNCTION:
                    long[f"{name}:{node.name}"] = length
    assert long == {}, "split them into parts that read in order"


def test_the_code_made_for_an_op_is_bounded() -> None:
    lengths = {name: function_text(op, True).count("\n") + 1 for name, op in OPS.items()}
    assert {name: length for name, length in lengths.items() if length > LINES_MADE_FOR_AN_OP} == {}
    assert sum(lengths.values()) < 75 * len(lengths)  # 57 each; where classes answer functions themselves, 67


def test_a_first_call_makes_only_the_nodes_that_it_uses() -> None:
    """An op of eight inputs could have 255 classes of nodes; those are made that a call needs."""
    ran = subprocess.run([sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, check=True)
    compiled, lines, classes = json.loads(ran.stdout)
    assert classes <= 6 and compiled <= 20, "one function for each op, one for each class, and one for each form of a primitive"
    assert lines <= 700
