from __future__ import annotations

from typing import Any

import numpy as np

from ..._site import Site
from ..._tensor import Tensor
from ..events import array_of
from ..reading import line_with
from ..rule import Rule
from ..slopes import differs, slopes_of

MOST = 4096  # elements of the inputs together


class FunctionGradient(Rule):
    """The `backward` of a custom function does not give the derivative of its `forward`, by a comparison with finite differences.

    Functions that exist for their gradient are left alone: those that give back their input (gradient reversal), and those without
    a slope of their own (rounding with a straight-through gradient).
    """

    name = "function-gradient"

    def start(self) -> None:
        self.checked: set[Any] = set()

    def function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: tuple[Any, ...], site: Site) -> None:
        if cls in self.checked or kwargs or not self.doctor.recording or cls.__module__.startswith(("adjoint", "torch")):
            return
        inputs = [x for x in args if isinstance(x, Tensor) and x.requires_grad]
        arrays = [array_of(x) for x in (*inputs, *outputs)]
        if not inputs or any(data is None or data.dtype.kind != "f" for data in arrays) or sum(x.numel() for x in inputs) > MOST:
            return
        self.checked.add(cls)
        if any(np.array_equal(arrays[0], data) for data in arrays[len(inputs) :]):  # type: ignore[arg-type]
            return
        if (pair := differs(slopes_of(cls, args))) is not None:
            expected, found = pair
            self.report(
                f"the backward of {cls.__name__} does not give the derivative of its forward",
                "compare it with autograd.gradcheck in float64; often a factor is missing, or the chain rule is taken without grad_output",
                {"backward": line_with(cls.backward, "return"), "applied": site},
                cls,
                by_finite_differences=expected,
                by_backward=found,
            )
