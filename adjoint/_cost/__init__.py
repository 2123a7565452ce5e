"""What each line of a program costs: `profiler.lines()` and `python -m adjoint lines`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .._site import user_frame
from .measure import Recorder, calibrated
from .result import Cost as Cost
from .result import Line as Line


class Measuring:
    """A `with` block whose lines are measured."""

    def __init__(self, memory: bool = False, packages: Sequence[str] = ()) -> None:
        self._options = memory, packages
        self._recorder: Recorder | None = None
        self.cost = Cost()

    def __enter__(self) -> Cost:
        recorder = Recorder(calibrated(), *self._options)
        recorder.start(user_frame(sys._getframe(1)))
        self._recorder = recorder
        return self.cost

    def __exit__(self, *_: object) -> None:
        assert self._recorder is not None
        self._recorder.stop()
        self.cost.measured(self._recorder)
        self._recorder = None
