"""Repairs of findings by small edits of the source, by the name of the rule. What cannot be done with certainty is left to the user."""

from . import arguments, loops, modes, parameters, probabilities, values
from .registry import REPAIRS, Change, Diagnosis, Program
from .source import ByHandError, Place, Source

__all__ = [
    "REPAIRS",
    "ByHandError",
    "Change",
    "Diagnosis",
    "Place",
    "Program",
    "Source",
    "arguments",
    "loops",
    "modes",
    "parameters",
    "probabilities",
    "values",
]
