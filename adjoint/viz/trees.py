"""A module in a notebook: a tree that opens, with parameters, shapes and bytes."""

from __future__ import annotations

from html import escape
from typing import Any

from ..nn.parameter import UninitializedTensorMixin
from .collect import count_text, shape_text

CSS = (
    ".ad-tree{font:13px/1.7 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}.ad-tree details,.ad-tree .p{margin-left:1.2em}"
    ".ad-tree>details{margin-left:0}.ad-tree summary{cursor:pointer;white-space:nowrap}.ad-tree .p{padding-left:1.05em;white-space:nowrap}"
    ".ad-tree i{font-style:normal;opacity:.65}.ad-tree .w{font-weight:600}.ad-tree .b{opacity:.75}"
)


def size_text(size: int) -> str:
    """`1.5 kB`."""
    if size < 1000:
        return f"{size} B"
    value, unit = size / 1000, "kB"
    for larger in ("MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"


def tensor_row(name: str, tensor: Any, kind: str) -> str:
    facts = f"{shape_text(tuple(tensor.shape))} {str(tensor.dtype).removeprefix('torch.')}"
    frozen = ", frozen" if kind == "w" and not tensor.requires_grad else ""
    note = "buffer, " if kind == "b" else ""
    return (
        f'<div class="p"><span class="{kind}">{escape(name)}</span> {escape(facts)} '
        f"<i>{note}{size_text(tensor.numel() * tensor.element_size())}{frozen}</i></div>"
    )


def tree(module: Any) -> str:
    """The HTML of a module: `details` that open, the first level open by itself."""

    def is_there(tensor: Any) -> bool:
        return tensor is not None and not isinstance(tensor, UninitializedTensorMixin)

    def box(name: str, one: Any, depth: int) -> str:
        parameters = {id(p): p for p in one.parameters() if is_there(p)}.values()
        count = sum(p.numel() for p in parameters)
        size = sum(p.numel() * p.element_size() for p in parameters)
        facts = f"{count_text(count)} parameters, {size_text(size)}" if count else ""
        extra = one.extra_repr()
        label = (
            f"{f'{escape(name)}: ' if name else ''}<b>{escape(one._get_name())}</b>{f'({escape(extra)})' if extra else ''} <i>{facts}</i>"
        )
        rows = [tensor_row(key, p, "w") for key, p in one._parameters.items() if is_there(p)]
        rows += [tensor_row(key, b, "b") for key, b in one._buffers.items() if is_there(b)]
        rows += [box(key, child, depth + 1) for key, child in one._modules.items() if child is not None]
        if not rows:
            return f'<div class="p">{label}</div>'
        return f"<details{' open' if depth == 0 else ''}><summary>{label}</summary>{''.join(rows)}</details>"

    return f'<div class="ad-tree"><style>{CSS}</style>{box("", module, 0)}</div>'
