"""The doctor: silent mistakes found, with the line, the evidence and the repair. It reads all other layers, and none knows of it."""

from .doctor import Doctor, doctor
from .finding import Finding

__all__ = ["Doctor", "Finding", "doctor"]
