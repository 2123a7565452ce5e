"""Notebooks as files: written by `start NAME --notebook`, read by `check NAME.ipynb`."""

from __future__ import annotations

import json

from ._exercise import Exercise


def notebook(exercise: Exercise) -> str:
    """A notebook with the task, the skeleton, and cells that check it and give hints, as the text of a file."""
    name = exercise.name
    cells = [
        ("markdown", f"# {exercise.title}\n\n{exercise.task.partition(chr(10))[2].strip()}"),
        ("code", exercise.skeleton.partition("\n\nif __name__")[0]),  # a demonstration would fail before there is something to show
        ("markdown", "Run the cell above, then this one. Each check draws new cases."),
        ("code", f'from adjoint.learn import check, hint, solution\n\ncheck("{name}")'),
        ("markdown", f'`hint("{name}")` helps, and more each time. After an attempt, `solution("{name}")` shows one way to do it.'),
    ]
    written: list[dict[str, object]] = [
        {"cell_type": kind, "id": f"{name}-{number}", "metadata": {}, "source": text.rstrip().splitlines(keepends=True)}
        | ({"execution_count": None, "outputs": []} if kind == "code" else {})
        for number, (kind, text) in enumerate(cells)
    ]  # fmt: skip
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
    return json.dumps({"cells": written, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def program(text: str) -> str:
    """The program in a notebook's code cells, without commands of the notebook and the cells that call the checker."""
    cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    lines = "\n\n".join(cell for cell in cells if "adjoint.learn" not in cell).splitlines()
    return "\n".join("" if line.startswith(("%", "!")) else line for line in lines) + "\n"
