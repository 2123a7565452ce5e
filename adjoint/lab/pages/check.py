"""The knowledge check: the questions, and what each program prints."""

from __future__ import annotations

from typing import Any

from ..questions import printed, questions


def record() -> dict[str, Any]:
    shown = ("id", "topic", "ask", "code", "answer")
    return {
        "questions": [
            {key: question[key] for key in shown}
            | {"program": question["program"].strip(), "output": printed(question["program"]).strip()}
            for question in questions()
        ]
    }
