"""Many tensors changed in place by one formula: gradients that are scaled, cut off or set to zero, averages of weights that move on.

If they are large, that is one compiled pass over all of them (`_kernels/updates.py`); if not, to list them all for such a pass would take
longer than to change one after the other, by a built-in (or by NumPy, until the formula has been used a few times).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .._site import here
from .._tensor import Tensor
from .node import INFERENCE_TENSOR
from .views import check_writable, counter_of

Formula = Callable[..., tuple[Any]]  # of numbers, an element, and the elements of other tensors at its place

MANY = 1 << 18  # elements that are worth a table of them all


def change(tensors: Sequence[Tensor], formula: Formula, numbers: Sequence[float], *others: Sequence[Tensor]) -> None:
    """Put the formula's values in the place of those of each tensor, of floating-point numbers. Tensors and others have the same shapes."""
    for tensor in tensors:
        check_writable(tensor, False)
    columns = [[tensor._data for tensor in some] for some in (tensors, *others)]
    blocks = in_blocks(*columns)
    if blocks is not None:
        blocks.run(compiled(formula, len(columns), len(numbers)), np.array(numbers, np.float64))
    else:
        single = one_by_one(formula, len(columns), len(numbers))
        for arrays in zip(*columns, strict=True):
            single.change(*arrays, *numbers)
    site = here()
    for tensor in tensors:
        if tensor._vc is not INFERENCE_TENSOR:
            counter_of(tensor).bump(site)


def in_blocks(*columns: list[Any]) -> Any:
    """The table of a compiled pass over arrays; None if they are few, or not such as it takes."""
    first = columns[0]
    dtype = first[0].dtype if first else None
    if dtype not in (np.float32, np.float64) or sum([array.size for array in first]) < MANY:
        return None
    from .._kernels import updates

    if any(not array.flags.writeable for array in first):
        return None
    if not updates.available() or any(array.shape != like.shape for some in columns for array, like in zip(some, first, strict=True)):
        return None
    try:
        return updates.Blocks(columns)
    except ValueError:
        return None


class OneByOne:
    """A formula for one tensor after the other: `change(target, *others, *numbers)`."""

    def __init__(self, formula: Formula, arrays: int, numbers: int) -> None:
        self.formula, self.arrays, self.numbers = formula, arrays, numbers
        self.change: Callable[..., Any] = self.first

    def by_numpy(self, target: Any, *rest: Any) -> None:
        target[...] = self.formula(rest[self.arrays - 1 :], target, *rest[: self.arrays - 1])[0]

    def first(self, *arguments: Any) -> None:
        self.change = self.compiled()
        self.change(*arguments)

    def compiled(self) -> Callable[..., Any]:
        """The built-in, or what serves without one."""
        from .._kernels import builtin, entry, jit, objects
        from .._kernels.expr import Expr

        if not jit.available() or not objects.supported():
            return self.by_numpy
        kinds = "T" * self.arrays + "S" * self.numbers
        inputs = Expr.inputs(kinds)
        (result,) = self.formula(inputs[self.arrays :], *inputs[: self.arrays])
        formula = builtin.Formula(self.formula.__name__, result, kinds, entry.FIRST)
        return builtin.load([formula], [self.by_numpy])[0]


one_by_one = cache(OneByOne)


@cache
def compiled(formula: Formula, arrays: int, numbers: int) -> Any:
    """The pass for a formula, which changes the first of its arrays."""
    from .._kernels import updates

    return updates.Pass(formula.__name__, formula, arrays, numbers, reads=range(1, arrays))
