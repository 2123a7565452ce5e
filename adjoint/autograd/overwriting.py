"""The error for a value that was changed before backward could use it: whose value it was, who changed it, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .._dtype import from_numpy_dtype
from .._errors import InplaceError
from .._site import Site, StepSite
from .._source import assigned_at, carried_by, local_variables, repair_of_write, running, variable_of
from .node import Edge, Node, Output, VersionCounter, public_edge


def overwritten(node: Node, name: str, array: Any, counter: VersionCounter, edge: Edge) -> InplaceError:
    """The error for a saved value that was changed before backward could use it. `edge`: where it came from."""
    changed = counter.first_write_after(node.seq)
    maker, nr = public_edge(edge) if isinstance(edge, Node | Output) else (None, 0)
    origin = "" if maker is None else f", which is output {nr} of {re.sub('Backward[0-9]*$', '', maker.name())},"
    sites = {"made": maker.site} if maker is not None else {}
    sites["used"] = node.site
    if changed is not None:
        sites["changed"] = changed
    whose = name_of_value(array, counter, maker, edge)
    return InplaceError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{from_numpy_dtype(array.dtype).scalar_name}Tensor {list(array.shape)}]{origin} is at version {counter.version}; "
        f"expected version {counter.version_at(node.seq)} instead. "
        f"{node.name()} needs {whose or 'it'} as {'its own result' if name == 'out' else 'one of its inputs'}.",
        sites,
        repair(node, changed, whose, maker is None and edge is not None),
    )


def name_of_value(array: Any, counter: VersionCounter, maker: Node | None, edge: Edge) -> str:
    """The parameter's name in its model, or the variable that holds the tensor; where that is gone, what it was assigned to."""
    from ..nn._owners import name_of, tensors_on

    if maker is None and edge is not None:
        return name_of(edge) or variable_of(edge)
    for tensor in tensors_on(counter):
        if tensor._data is array or (maker is None and tensor.shape == array.shape):
            if found := name_of(tensor) or variable_of(tensor):
                return found
    return "" if maker is None else assigned_at(maker.site)


def repair(node: Node, changed: Site | None, whose: str, is_leaf: bool) -> str:
    """What to write instead."""
    if changed is None:
        return "write the change out of place (x = x + 1 instead of x += 1), or take a .clone() before changing it"
    what, used = whose or "a parameter", f"line {node.site.line}"
    if isinstance(changed, StepSite):
        states = carried_by(node.site)
        return (
            f"{what} was changed by the optimizer on line {changed.line} after {used} had used it: compute that again after the step, or "
            "call backward() before it"
            + (f"; cut off the state that {used} carries over: {', '.join(f'{h} = {h}.detach()' for h in states)}" if states else "")
        )
    if is_leaf:
        return f"call backward() before line {changed.line} changes {what}, or compute what {used} computes again after that"
    return (
        repair_of_write(changed)
        or repair_of_module(changed)
        or f"write the change on line {changed.line} out of place (x = x + 1 instead of x += 1), or take a .clone() before changing it"
    )


def modules_in_sight(kind: type) -> Iterator[Any]:
    """The modules that variables of the program hold, themselves or by an attribute (`self.model`)."""
    for frame in running():
        for value in (*local_variables(frame).values(), *frame.f_globals.values()):
            try:
                attributes = object.__getattribute__(value, "__dict__")  # objects may answer otherwise, or refuse
            except AttributeError:
                attributes = None
            held = attributes.values() if isinstance(attributes, dict) else ()
            yield from (one for one in (value, *held) if issubclass(type(one), kind))  # (isinstance would wake stand-ins)


def repair_of_module(changed: Site) -> str:
    """Where the line itself writes nothing in place, it calls a module that does: those that are there are named."""
    from ..nn._owners import name_of_module
    from ..nn.module import Module

    found = {part: None for model in modules_in_sight(Module) for part in model.modules() if getattr(part, "inplace", False) is True}
    if not found:
        return ""
    kinds = sorted({type(one).__name__ for one in found})
    names = sorted(filter(None, map(name_of_module, found)))
    layers = f" ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})" if names else ""
    return (
        f"line {changed.line} calls a layer that writes into its input{layers}: nn.{'/'.join(kinds)}(inplace=True) -> "
        f"nn.{'/'.join(kinds)}(inplace=False)"
    )
