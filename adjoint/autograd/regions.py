"""Where in the memory of its base a view lies.

Note [A base may change its geometry]
A view is made again by its ops: `y[0]` of the present `y`. But `y.t_()` leaves `y[0]` of before where it is in memory, as a column. So a
base remembers the geometries (shape, strides, offset) that it had (`Tensor._geometries`), and a view that is no longer found where its ops
lead is made of the one from which they do lead there: a frame, laid over the memory of the base by `as_strided`. A view that is found
from none of them lies in memory that the base has left (`set_`), and is a tensor of its own from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._layer import Pending, raised
from .._layout import contiguous_format, is_dense
from .accumulate import laid_out_like

if TYPE_CHECKING:
    from .._tensor import Tensor
    from .views import View

IN_ORDER = np.empty(0)  # as the elements of any array that is contiguous
Geometry = tuple[tuple[int, ...], tuple[int, ...], int]  # shape, strides and offset, the latter two in elements


class Region:
    """A view of any base that has a geometry like that of one: an array of an array, a Tensor of a Tensor."""

    __slots__ = ("frame", "own", "steps")

    frame: Geometry | None  # of what the steps begin with, in the memory of the base; None: the base itself
    own: Any  # the geometry of the base where that matters: with a frame, or where its elements are not in order
    steps: tuple[tuple[Any, tuple[Any, ...]], ...]  # view ops with their parameters

    def __init__(self, frame: Geometry | None, own: Any, steps: tuple[tuple[Any, tuple[Any, ...]], ...]) -> None:
        self.frame = frame
        self.own = own
        self.steps = steps

    @staticmethod
    def of(view: View, tensor: Tensor) -> Region | None:
        """The region of a view; None if it lies in memory that its base has left."""
        base, steps = view.base, view.steps()
        data, before = base._data, base._geometries
        if not isinstance(data, np.ndarray):
            return Region(None, None, steps)
        if steps[0][0].name == "as_strided":
            frame: Geometry | None = steps[0][1][:3]
            steps = steps[1:]
            if before is not None and not same_place(from_frame(data, frame, steps), tensor._data):
                return None
        elif before is None:
            return Region(None, None if data.flags.c_contiguous else geometry(data), steps)
        else:
            for frame in (None, *before):
                if same_place(from_frame(data, frame, steps), tensor._data):
                    break
            else:
                return None
        return Region(frame, None if frame is None and data.flags.c_contiguous else geometry(data), steps)

    def __call__(self, base: Any) -> Any:
        """The view of a base that has memory of its own only where the one it was made for has."""
        return replayed(base if self.frame is None else base.as_strided(*self.frame), self.steps)

    def opened(self, g: Any) -> tuple[Any, Any]:
        """A copy of a gradient of the base, and what the view sees of it."""
        if self.frame is None:
            whole = laid_out_like(g, IN_ORDER if self.own is None else strided_like(self.own, g.dtype))
            return whole, replayed(whole, self.steps)
        memory = np.zeros(self.extent(), g.dtype, like=g)
        whole = strided(memory, self.own)
        whole[...] = g
        return whole, replayed(strided(memory, self.frame), self.steps)

    def of_gradient(self, g: Tensor) -> Tensor:
        """What the view sees of a gradient of the base."""
        return replayed(g.contiguous(), self.steps) if self.own is None else self.opened_recorded(g)[1]

    def opened_recorded(self, g: Tensor, levels: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """As `opened`, on Tensors: a copy that what `levels` holds can be written into, and the view of it."""
        if self.own is None:
            whole = raised(g.clone(memory_format=contiguous_format), levels)
            return whole, replayed(whole, self.steps)
        memory = raised(raised(g.new_zeros(self.extent()), g), levels)
        whole = memory.as_strided(*self.own)
        whole.copy_(g)
        return whole, replayed(whole if self.frame is None else memory.as_strided(*self.frame), self.steps)

    def extent(self) -> int:
        """How much memory base and frame reach over."""
        return max(reach(place) for place in (self.own, self.frame) if place is not None)


def replayed(base: Any, steps: tuple[tuple[Any, tuple[Any, ...]], ...]) -> Any:
    for op, params in steps:
        base = op.view_of(base, params)
    return base


def remember_geometry(tensor: Tensor) -> None:
    """Keep the geometry that a tensor is about to give up, for the sake of its views; see Note [A base may change its geometry]."""
    if isinstance(tensor._data, np.ndarray) and tensor._vc is not None:
        known = tensor._geometries or ()
        present = geometry(tensor._data)
        tensor._geometries = (present, *(other for other in known if other != present))


def leave_memory(tensor: Tensor) -> None:
    """Note that a tensor is about to look at other memory: its views do not follow it there."""
    if tensor._vc is not None:
        tensor._geometries = ()


def geometry(array: Any) -> Geometry:
    from ..ops.strides import geometry_of

    return geometry_of(array)


def reach(place: Geometry) -> int:
    shape, strides, offset = place
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) if 0 not in shape else 1


def strided(memory: Any, place: Geometry) -> Any:
    """A view of a vector of memory."""
    shape, strides, offset = place
    begin, steps = memory[offset:], tuple([stride * memory.itemsize for stride in strides])
    return np.lib.stride_tricks.as_strided(begin, shape, steps) if isinstance(begin, np.ndarray) else begin.strided(shape, steps)


def strided_like(place: Geometry, dtype: Any) -> Any:
    """An array with certain strides that is not to be read."""
    return strided(np.empty(1, dtype), (*place[:2], 0))


def from_frame(data: Any, frame: Geometry | None, steps: tuple[tuple[Any, tuple[Any, ...]], ...]) -> Any:
    """The array that steps lead to from a frame in the memory of an array; None where they do not apply."""
    from ..ops.strides import laid_over

    try:
        return replayed(data if frame is None else laid_over(data, *frame), steps)
    except (RuntimeError, ValueError, IndexError, TypeError):
        return None


def same_place(a: Any, b: Any) -> bool:
    """Whether two arrays are the same elements of the same memory."""
    if a is None or a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.__class__ is Pending:
        return b.__class__ is Pending and a.conj == b.conj and a.neg == b.neg and same_place(a.array, b.array)
    if b.__class__ is Pending:
        return False
    if not a.size:
        return True
    strides = zip(a.shape, a.strides, b.strides, strict=True)
    return bool(a.ctypes.data == b.ctypes.data) and all(mine == other for size, mine, other in strides if size > 1)


# ---- what is written while it is read -----------------------------------------------------------------------------------------------

PARTIAL, ANY = "partial", "any"  # which memory an op may not write that it also reads: all but the very elements that it writes; all of it


def same_memory(a: Any, b: Any) -> bool:
    """Whether two arrays lie in one piece of memory."""
    mine, other = a.base, b.base
    return a is b if mine is None and other is None else owner(a) is owner(b)


def owner(array: Any) -> Any:
    while isinstance(base := array.base, np.ndarray):
        array = base
    return array


def check_apart(target: Any, source: Any, overlap: str) -> None:
    """Refuse to write into an array while another on the same memory is read. Arrays that are not dense get the benefit of the doubt."""
    target, source = (x.array if x.__class__ is Pending else x for x in (target, source))
    if not overlap or source.__class__ is not np.ndarray or target.__class__ is not np.ndarray or not same_memory(target, source):
        return
    if not target.size or not source.size or not is_dense(target) or not is_dense(source):
        return
    begin, other = target.ctypes.data, source.ctypes.data
    if begin + target.nbytes <= other or other + source.nbytes <= begin:
        return
    if overlap is PARTIAL and begin == other and target.nbytes == source.nbytes and target.strides == source.strides:
        return
    raise RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
        "Please clone() the tensor before performing the operation.\n"
        "  fix: read a copy, for example x[1:].add_(x[:-1].clone())"
    )
