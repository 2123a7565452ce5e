"""Text of tensors, character for character as PyTorch prints them.

The work has three steps: pick the elements to show (`_corners`), turn each into a text of a common width (`_cells`),
and set those texts into nested brackets (`_layout`). The facts about the tensor (`dtype=`, `grad_fn=`) follow.
"""

import dataclasses
import math
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Protocol

import numpy as np

from . import _dtype
from ._layout import Sparse

__all__ = ["get_printoptions", "parameter_text", "printoptions", "set_printoptions", "tensor_text"]

Array = np.ndarray[Any, Any]


class Shaped(Protocol):
    """What is read of a tensor on the meta device, which has no elements."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...


# ----- Options -----


@dataclasses.dataclass(slots=True)
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: float = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}
_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: float | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed, for the whole process.

    Args:
        precision: digits after the decimal point.
        threshold: a tensor with more elements than this is summarised.
        edgeitems: elements shown at each end of a summarised dimension.
        linewidth: characters in a line.
        profile: "default", "short" or "full", a starting point which the other arguments adjust.
        sci_mode: scientific notation always or never; None, to which every call without it returns, asks the values.

    Raises:
        TypeError: `precision` or `edgeitems` is not an integer.
        ValueError: `precision` or `edgeitems` is negative.
    """
    changes: dict[str, Any] = {}
    if profile in _PROFILES:  # as in PyTorch, an unknown profile is no profile
        changes |= dataclasses.asdict(_PROFILES[profile])
    if precision is not None:
        changes["precision"] = _count("precision", precision)
    if threshold is not None:
        changes["threshold"] = threshold
    if edgeitems is not None:
        changes["edgeitems"] = _count("edgeitems", edgeitems)
    if linewidth is not None:
        changes["linewidth"] = linewidth
    changes["sci_mode"] = sci_mode
    for name, value in changes.items():
        setattr(_options, name, value)


def get_printoptions() -> dict[str, Any]:
    """The options in force, as arguments for `set_printoptions`."""
    return dataclasses.asdict(_options)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Set print options (the arguments of `set_printoptions`) inside a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def _count(name: str, value: int) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"set_printoptions(): {name} must be an int, got {value!r}. Write {name}=3, say.") from None
    if count < 0:
        raise ValueError(f"set_printoptions(): {name} must not be negative, got {count}. Write {name}=0 or more.")
    return count


# ----- The text of a tensor -----


def tensor_text(
    array: Shaped,
    *,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    device: str = "cpu",
    prefix: str = "tensor(",
    extras: Sequence[str] = (),
) -> str:
    """The text of a tensor, as `repr` gives it.

    Args:
        array: the elements; on the "meta" device only `shape` and `dtype` are read.
        requires_grad: whether a leaf asks for its gradient.
        grad_fn_name: name of the node that made the tensor, shown in place of `requires_grad`.
        device: shown unless it is "cpu".
        prefix: opening text, ending in "("; a subclass gives its own name.
        extras: further facts to end with, such as "tangent=tensor(1.)".
    """
    indent = len(prefix)
    shape = tuple(array.shape)
    dtypes_unsaid = [_dtype.default_numpy()]
    if device == "meta":
        body, says_size = "...", True
    elif 0 in shape:
        body, says_size = "[]", len(shape) != 1
    else:
        body, says_size = _body(np.asarray(array), indent), _options.edgeitems == 0
        # The values themselves tell a complex, an integer and a truth value from a float.
        dtypes_unsaid += [_dtype.default_complex_numpy(), _dtype.int64.numpy, _dtype.bool_.numpy]
    facts = []
    if device != "cpu":
        facts.append(f"device='{device}'")
    if says_size:
        facts.append(f"size={shape}")
    if array.dtype not in dtypes_unsaid:
        facts.append(f"dtype={_dtype.from_numpy_dtype(array.dtype)}")
    if grad_fn_name is not None:
        facts.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        facts.append("requires_grad=True")
    return _with_facts(prefix + body, [*facts, *extras], indent)


def parameter_text(text: str) -> str:
    """The text of an `nn.Parameter`, given its text as a tensor."""
    if not text.startswith("tensor("):  # a subclass of Parameter shows its own name
        text = f"Parameter({text})"
    return f"Parameter containing:\n{text}"


def _with_facts(text: str, facts: Sequence[str], indent: int, apart: bool = False) -> str:
    """Append the facts, each on a new line when the current one is full (or `apart`: the first in any case), and close the bracket."""
    # PyTorch counts two columns for the end of the line that holds the elements and none for later lines.
    used = len(text) - (text.rfind("\n") + 1) + 2
    for fact in facts:
        if apart or used + len(fact) + 2 > _options.linewidth:
            apart = False
            text += ",\n" + " " * indent + fact
            used = indent + len(fact)
        else:
            text += ", " + fact
            used += len(fact) + 2
    return text + ")"


def sparse_text(parts: dict[str, Array], facts: Sequence[str], apart: bool, prefix: str = "tensor(", device: str = "cpu") -> str:
    """The text of a sparse tensor: its arrays by name, and what there is to say besides."""
    indent = len(prefix)
    lines = []
    for name, array in parts.items():
        opening = f"{name}=tensor("
        shown = array.size and device != "meta"
        empty = "..." if device == "meta" else "[]"
        inside = _body(np.asarray(array), indent + len(opening)) if shown else f"{empty}, size={tuple(array.shape)}"
        lines.append(f"{opening}{inside})")
    return _with_facts(prefix + (",\n" + " " * indent).join(lines), facts, indent, apart)


# ----- The elements -----


def _body(array: Array, indent: int) -> str:
    """The elements in brackets, or the edges of them where there are too many."""
    edge = _options.edgeitems
    summarise = array.size > _options.threshold
    if summarise and edge == 0 and array.ndim:
        return "[...]"
    cut = [summarise and n > 2 * edge for n in array.shape]
    shown = _corners(array, cut, edge) if any(cut) else array
    cells, width = _cells(shown.ravel())
    return _layout(iter(cells), shown.shape, cut, width, indent)


def _corners(array: Array, cut: Sequence[bool], edge: int) -> Array:
    """The first and last `edge` items along every cut dimension; nothing else is read or copied."""
    ends = np.r_[0:edge, -edge:0]
    picks = [ends if is_cut else np.arange(n) for n, is_cut in zip(array.shape, cut, strict=True)]
    corners: Array = array[np.ix_(*picks)]
    return corners


def _layout(cells: Iterator[str], shape: tuple[int, ...], cut: Sequence[bool], width: int, indent: int) -> str:
    """Take as many cells as `shape` holds and set them in brackets, the opening one in column `indent`."""
    if not shape:
        return next(cells)
    margin = "\n" + " " * (indent + 1)
    length, *inner = shape
    if not inner:
        row = list(islice(cells, length))
        if cut[0]:
            row.insert(length // 2, " ...")
        per_line = max(1, int((_options.linewidth - indent) // (width + 2)))
        lines = [", ".join(row[i : i + per_line]) for i in range(0, len(row), per_line)]
        return "[" + ("," + margin).join(lines) + "]"
    blocks = [_layout(cells, tuple(inner), cut[1:], width, indent + 1) for _ in range(length)]
    if cut[0]:
        blocks.insert(length // 2, "...")
    # One empty line between matrices, two between stacks of matrices, and so on.
    return "[" + ("," + "\n" * (len(inner) - 1) + margin).join(blocks) + "]"


# ----- One element -----


def _cells(values: Array) -> tuple[list[str], int]:
    """The text of each value, right-aligned, and the width of the column for breaking lines."""
    if values.dtype.names:  # packed numbers, of which only the bytes can be seen
        values = values.view(f"u{values.itemsize}")
    category = _dtype.category(values.dtype)
    if category == _dtype.COMPLEX:
        real, real_width = _cells(values.real)
        imag, imag_width = _cells(values.imag)
        return list(map(_complex_cell, real, imag)), real_width + imag_width + 1
    if category != _dtype.FLOATING:
        texts = [str(value) for value in values.tolist()]
        width = max(map(len, texts))
    else:
        texts, width = _float_texts(values.astype(np.float64))
    return [text.rjust(width) for text in texts], width


def _complex_cell(real: str, imag: str) -> str:
    imag = imag.lstrip()
    return f"{real}{imag}j" if imag.startswith("-") else f"{real}+{imag}j"


def _float_texts(values: Array) -> tuple[list[str], int]:
    """The text of each value and the width of the widest finite, nonzero one: others may stick out."""
    sized = np.isfinite(values) & (values != 0)
    magnitudes = np.abs(values[sized])
    if not magnitudes.size:
        return [_float_text(value, ".0f", ".") for value in values.tolist()], 1
    whole = bool(np.all(magnitudes == np.floor(magnitudes)))
    scientific = _options.sci_mode
    if scientific is None:
        smallest, largest = float(magnitudes.min()), float(magnitudes.max())
        scientific = largest / smallest > 1000 or largest > 1e8 or (not whole and smallest < 1e-4)
    if scientific:
        spec, point = f".{_options.precision}e", ""
    elif whole:
        spec, point = ".0f", "."
    else:
        spec, point = f".{_options.precision}f", ""
    texts = [_float_text(value, spec, point) for value in values.tolist()]
    return texts, max(len(text) for text, counts in zip(texts, sized.tolist(), strict=True) if counts)


def _float_text(value: float, spec: str, point: str) -> str:
    text = format(value, spec)
    return text + point if math.isfinite(value) else text


# ----- A Tensor -----


def describe(tensor: Any) -> str:
    """The text of a Tensor, as its `repr` gives it."""
    data = tensor._data
    if hasattr(data, "resolved"):  # a conjugation is pending
        data = data.resolved()
    if not isinstance(data, np.ndarray | Sparse) and not tensor.is_meta:
        return repr(data)  # inside a transform: what it stands for
    try:
        edge = tensor.grad_fn
        node = None if edge is None else type(edge).__name__
    except RuntimeError:  # a view that may not be used any more can still be looked at
        node = "Invalid"
    kind = type(tensor).__name__
    if isinstance(data, Sparse):
        return data.text(node, tensor.requires_grad, "tensor(" if kind in ("Tensor", "Parameter") else f"{kind}(")  # type: ignore[attr-defined, no-any-return]
    tangent = tensor._tangent
    extras = [] if tangent is None else [f"tangent={describe(tangent) if tangent.dim() else tangent.item()}"]
    return tensor_text(
        data,
        requires_grad=tensor.requires_grad,
        grad_fn_name=node,
        device=tensor.device.type,
        prefix="tensor(" if kind in ("Tensor", "Parameter") else f"{kind}(",
        extras=extras,
    )
