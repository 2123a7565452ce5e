"""`ad.viz.summary(model, *inputs)`: a table of the layers of a model, with shapes, parameters, work and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..nn.module import Module
from .collect import count_text
from .graphs import tensors_in


@dataclass
class Layer:
    """A row: one call of a module, or a module that was not called."""

    name: str
    kind: str
    depth: int
    module: Any
    shapes: list[tuple[int, ...]]
    parameters: int = 0  # all that are inside, each counted once per table
    trainable: int = 0
    work: int = 0  # multiplications with weights, each with the addition that follows
    bytes: int = 0  # of what it returned
    inner: bool = False  # whether there are modules inside, whose work and results are counted in their own rows
    again: bool = False  # whether its parameters have been counted before


class Summary:
    """The layers of a model as a table: `str()` gives text, a notebook shows it as such."""

    def __init__(self, layers: list[Layer], model: Module, input_bytes: int, called: bool, depth: int) -> None:
        self.layers = layers
        self.called = called
        self.depth = depth
        parameters = {id(parameter): parameter for parameter in model.parameters()}.values()
        self.total_params = sum(parameter.numel() for parameter in parameters)
        self.trainable_params = sum(parameter.numel() for parameter in parameters if parameter.requires_grad)
        self.total_mult_adds = sum(layer.work for layer in layers if not layer.inner)
        self.input_bytes = input_bytes
        self.output_bytes = sum(layer.bytes for layer in layers if not layer.inner)
        self.param_bytes = sum(parameter.numel() * parameter.element_size() for parameter in parameters)

    @property
    def rows(self) -> list[Layer]:
        return [layer for layer in self.layers if layer.depth <= self.depth]

    def cells(self) -> Iterator[tuple[str, ...]]:
        """The text of each row, the head first."""
        yield ("Layer (type)", "Output shape", "Param #", "Mult-adds") if self.called else ("Layer (type)", "Param #")
        rows = self.rows
        for place, layer in enumerate(rows):
            kind = f"{layer.name} ({layer.kind})" if layer.name else layer.kind
            count = "(recursive)" if layer.again and layer.parameters else f"{layer.parameters:,}" if layer.parameters else "--"
            shape = ", ".join(str(list(shape)) for shape in layer.shapes) or "--"
            work = f"{layer.work:,}" if layer.work else "--"
            head = branches(rows, place) + kind
            yield (head, shape, count, work) if self.called else (head, count)

    def totals(self) -> list[list[tuple[str, str]]]:
        frozen = self.total_params - self.trainable_params
        counts = [("Total params", f"{self.total_params:,}"), ("Trainable params", f"{self.trainable_params:,}")]
        groups = [[*counts, ("Non-trainable params", f"{frozen:,}")]]
        sizes = [("Params size (MB)", megabytes(self.param_bytes))]
        if self.called:
            groups[0].append(("Total mult-adds", count_text(self.total_mult_adds)))
            whole = self.input_bytes + 2 * self.output_bytes + self.param_bytes
            sizes = [
                ("Input size (MB)", megabytes(self.input_bytes)),
                ("Forward/backward pass size (MB)", megabytes(2 * self.output_bytes)),
                *sizes,
                ("Estimated total size (MB)", megabytes(whole)),
            ]
        return [*groups, sizes]

    def __str__(self) -> str:
        table = list(self.cells())
        widths = [max(len(row[i]) for row in table) + 3 for i in range(len(table[0]))]
        rule = "=" * sum(widths)
        lines = [rule, *("".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)]
        lines.insert(2, rule)
        for group in self.totals():
            lines += [rule, *(f"{name}: {value}" for name, value in group)]
        return "\n".join([*lines, rule])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *table = self.cells()
        number = ' style="text-align:right;padding:2px 12px"'
        left = ' style="text-align:left;padding:2px 12px;white-space:pre"'
        row = "".join(f"<th{left if i == 0 else number}>{escape(cell)}</th>" for i, cell in enumerate(head))
        body = "".join(
            "<tr>" + "".join(f"<td{left if i == 0 else number}>{escape(cell)}</td>" for i, cell in enumerate(cells)) + "</tr>"
            for cells in table
        )
        notes = " · ".join(f"{escape(name)}: <b>{escape(value)}</b>" for group in self.totals() for name, value in group)
        font = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12.5px"
        return f'<div style="{font}"><table><thead><tr>{row}</tr></thead><tbody>{body}</tbody></table><p>{notes}</p></div>'


def megabytes(size: int) -> str:
    return f"{size / 1e6:.2f}"


def branches(rows: list[Layer], place: int) -> str:
    """The lines of a tree in front of a row."""
    depth = rows[place].depth
    if depth == 0:
        return ""
    text = ""
    for level in range(1, depth + 1):
        later = next((row.depth for row in rows[place + 1 :] if row.depth <= level), -1)
        goes_on = later == level
        text += ("├─" if goes_on else "└─") if level == depth else ("│ " if goes_on else "  ")
    return text


def summary(model: Module, *inputs: Any, depth: int = 3, **keywords: Any) -> Summary:
    """List the layers of a model. With inputs it is called once (without gradients, in evaluation mode), which gives shapes and work.

    `depth`: how deep the table goes; what lies deeper is counted all the same. A module that is called twice has two rows.

    >>> import adjoint as ad
    >>> from adjoint import nn
    >>> print(ad.viz.summary(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)), ad.ones(5, 3)))
    ====================================================
    Layer (type)   Output shape   Param #   Mult-adds
    ====================================================
    Sequential     [5, 2]         50        200
    ├─0 (Linear)   [5, 8]         32        120
    ├─1 (ReLU)     [5, 8]         --        --
    └─2 (Linear)   [5, 2]         18        80
    ====================================================
    Total params: 50
    Trainable params: 50
    Non-trainable params: 0
    Total mult-adds: 200
    ====================================================
    Input size (MB): 0.00
    Forward/backward pass size (MB): 0.00
    Params size (MB): 0.00
    Estimated total size (MB): 0.00
    ====================================================
    """
    if not isinstance(model, Module):
        raise TypeError(f"summary() describes a module, not {type(model).__name__}\n  fix: ad.viz.summary(model, x)")
    called = bool(inputs or keywords)
    layers = list(observed(model, inputs, keywords)) if called else []
    seen = {id(layer.module) for layer in layers}
    missing = [layer for layer in described(model) if id(layer.module) not in seen] if called else list(described(model))
    layers = merged(layers, missing, model)
    counted: set[int] = set()
    for layer in layers:
        layer.inner = any(True for _ in layer.module.children())
        layer.again = id(layer.module) in counted
        counted.add(id(layer.module))
        own = {id(parameter): parameter for parameter in layer.module.parameters()}.values()
        layer.parameters = sum(parameter.numel() for parameter in own)
        layer.trainable = sum(parameter.numel() for parameter in own if parameter.requires_grad)
    add_up(layers)
    size = sum(x.numel() * x.element_size() for x in tensors_in([inputs, keywords]) if isinstance(x, Tensor))
    return Summary(layers, model, size, called, depth)


def described(model: Module) -> Iterator[Layer]:
    """A row for each module, as the model holds them."""
    for path, module in model.named_modules():
        yield Layer(path.rpartition(".")[2], type(module).__name__, path.count(".") + 1 if path else 0, module, [])


def merged(layers: list[Layer], missing: list[Layer], model: Module) -> list[Layer]:
    """Put rows of modules that were not called (containers, or what was left out) where the model holds them."""
    if not layers:
        return missing
    paths = {id(module): path for path, module in model.named_modules()}
    containers = {paths[id(layer.module)]: layer for layer in missing}
    result: list[Layer] = []
    placed: set[str] = set()
    for layer in layers:
        path = paths[id(layer.module)]
        above = path.rpartition(".")[0]
        outer: list[str] = []
        while above in containers:
            outer.insert(0, above)
            above = above.rpartition(".")[0]
        for one in outer:
            if one not in placed:
                placed.add(one)
                result.append(containers[one])
        layer.depth = path.count(".") + 1 if path else 0
        result.append(layer)
    return result + [layer for path, layer in containers.items() if path not in placed]


def add_up(layers: list[Layer]) -> None:
    """The work of a module with modules inside is theirs."""
    for place, layer in enumerate(layers):
        if layer.inner:
            inside = []
            for other in layers[place + 1 :]:
                if other.depth <= layer.depth:
                    break
                inside.append(other)
            layer.work = sum(other.work for other in inside if not other.inner)


@contextmanager
def evaluating(model: Module) -> Iterator[None]:
    """Evaluation mode for a while, then what each module had."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def observed(model: Module, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> list[Layer]:
    """A row for each call, in the order in which they began."""
    layers: list[Layer] = []
    running: list[Layer] = []
    handles = []
    for path, module in model.named_modules():

        def enter(module: Any, given: Any, path: str = path) -> None:
            running.append(Layer(path.rpartition(".")[2], type(module).__name__, 0, module, []))
            layers.append(running[-1])

        def leave(module: Any, given: Any, result: Any) -> None:
            layer = running.pop()
            results = [one for one in tensors_in(result) if isinstance(one, Tensor)]
            layer.shapes = [tuple(one.shape) for one in results]
            layer.bytes = sum(one.numel() * one.element_size() for one in results)
            layer.work = 0 if next(module.children(), None) is not None else work_of(module, given, results)

        handles += [module.register_forward_pre_hook(enter), module.register_forward_hook(leave)]
    try:
        with evaluating(model):
            model(*inputs, **keywords)
    finally:
        for handle in handles:
            handle.remove()
    return layers


def work_of(module: Any, given: Any, results: list[Any]) -> int:
    """How often a number is multiplied by one of the module's weights.

    Each weight of a matrix or a filter is used once at each place: of the result, of the input where a convolution is transposed, once
    for each step and example of a recurrent layer. A look-up multiplies nothing.
    """
    kind = type(module).__name__
    weights = [p for name, p in module.named_parameters(recurse=False) if "weight" in name or name == "in_proj_weight"]
    if not weights or not results or "Embedding" in kind:
        return 0
    out = results[0]
    if hasattr(module, "hidden_size"):
        steps = out.numel() // max(1, out.shape[-1]) if out.dim() else 1
        return int(steps * sum(weight.numel() for weight in weights))
    if weights[0].dim() < 2:  # of a normalisation: one for each number
        return int(out.numel())
    if "ConvTranspose" in kind:
        first = given[0]
        return int(first.numel() // first.shape[-module.weight.dim() + 1] * weights[0].numel())
    if "Conv" in kind:
        return int(out.numel() // weights[0].shape[0] * weights[0].numel())
    return int(out.numel() // max(1, out.shape[-1]) * weights[0].numel())
