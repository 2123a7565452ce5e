"""Many tensors changed in place by one formula: gradients that are scaled, cut off or set to zero, averages of weights that move on.

Large ones are changed in one compiled pass over all of them (`_kernels/updates.py`), small ones by NumPy, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .._site import here
from .._tensor import Tensor
from .accumulate import LARGE
from .node import INFERENCE_TENSOR
from .views import check_writable, counter_of

Formula = Callable[..., tuple[Any]]  # of numbers, an element, and the elements of other tensors at its place


def change(tensors: Sequence[Tensor], formula: Formula, numbers: Sequence[float], *others: Sequence[Tensor]) -> None:
    """Put the formula's values in the place of those of each tensor, of floating-point numbers. Tensors and others have the same shapes."""
    for tensor in tensors:
        check_writable(tensor, False)
    columns = [[tensor._data for tensor in some] for some in (tensors, *others)]
    blocks = in_blocks(*columns)
    if blocks is not None:
        blocks.run(compiled(formula, len(columns), len(numbers)), np.array(numbers, np.float64))
    else:
        for target, *rest in zip(*columns, strict=True):
            target[...] = formula(numbers, target, *rest)[0]
    site = here()
    for tensor in tensors:
        if tensor._vc is not INFERENCE_TENSOR:
            counter_of(tensor).bump(site)


def in_blocks(*columns: list[Any]) -> Any:
    """The table of a compiled pass over arrays; None if they are few, or not such as it takes."""
    first = columns[0]
    dtype = first[0].dtype if first else None
    if dtype not in (np.float32, np.float64) or sum(array.size for array in first) < LARGE:
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


@cache
def compiled(formula: Formula, arrays: int, numbers: int) -> Any:
    """The pass for a formula, which changes the first of its arrays."""
    from .._kernels import updates

    return updates.Pass(formula.__name__, formula, arrays, numbers, reads=range(1, arrays))
