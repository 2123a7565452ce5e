"""The node classes of ops, made when first needed: one for each way in which an op is differentiated.

That of `mul` for "both inputs require grad" reads:

    class MulBackward0(Node):
        def apply(self, g):
            s_other, s_input = self.saved
            if s_other._vc is not None: check_input(self, "other", s_other)
            if s_input._vc is not None: check_input(self, "input", s_input)
            return rule_input(g, s_other._data), rule_other(g, s_input._data)
"""

from __future__ import annotations

from typing import Any

from ..autograd.node import Node, SeveralNode
from ..autograd.saved import saved_properties
from ._codegen import _NAMESPACE, saved_names
from ._generated import function_from
from ._precision import in_single
from ._registry import Op, parameters
from ._rules import conjugated


def make_node_class(op: Op, kinds: str, bits: int, conj: bool, half: bool = False) -> type[Node]:
    """The class of nodes for one way an op is differentiated."""
    needing = [name for slot, name in enumerate(op.inputs) if bits >> slot & 1]
    layout = saved_names(op, needing)
    namespace = dict(_NAMESPACE)
    for name, rule in op.named_rules():
        of_arrays = conjugated(rule) if name and conj else in_single(rule, half)
        namespace |= {f"rule_{name or 'all'}": rule, f"array_rule_{name or 'all'}": of_arrays}
    namespace["NEEDS"] = tuple(bool(bits >> slot & 1) for slot in range(len(op.inputs)))
    members: dict[str, Any] = {
        "__slots__": (),
        "op": op,
        # A node of a sequence has an edge for each of its tensors, whether it requires a gradient or not.
        "input_slots": () if op.sequence else tuple(slot for slot in range(len(op.inputs)) if bits >> slot & 1),
        "input_count": 0 if op.sequence else len(op.inputs),
        "layout": tuple(layout),
        "keeps_tensors": any(name == "out" or name in op.inputs or name in op.held for name in layout),
        **saved_properties(op, layout),
    }
    if not op.sequence:
        members["shown"] = op.edges if op.edges and kinds.count("T") == len(op.edges) else shown_slots(op, kinds)
    members["apply"] = function_from(apply_text(op, kinds, needing, needing, layout, "apply", False, conj), "apply", namespace)

    def apply_recorded(self: Node, g: Any) -> Any:
        """Makes the method when it is first called: most nodes are never differentiated again."""
        text = apply_text(op, kinds, needing, needing, layout, "apply_recorded", True, conj)
        self.__class__.apply_recorded = made = function_from(text, "apply_recorded", namespace)  # type: ignore[method-assign]
        return made(self, g)

    members["apply_recorded"] = apply_recorded
    if len(needing) > 1:
        members["applied_partly"] = staticmethod(PartialRules(op, kinds, needing, layout, conj, namespace).__getitem__)
    return type(op.node_name(kinds), (SeveralNode if op.several else Node,), members)


def shown_slots(op: Op, kinds: str) -> tuple[int, ...]:
    """The inputs that PyTorch has edges for: those with a derivative. For a number it is an edge to nothing, unless the op has a node of
    its own for numbers. Empty if they are all."""
    apart = isinstance(op.nodes, dict)
    slots = [slot for slot, name in enumerate(op.inputs) if op.differentiates(name) and not (apart and kinds[slot] != "T")]
    return () if len(slots) == len(op.inputs) else tuple(slots)


class PartialRules(dict[tuple[tuple[bool, ...], bool], Any]):
    """Forms of `apply` that compute the gradients of some inputs only, made when first needed. The key says which, and whether it is
    recorded."""

    def __init__(self, op: Op, kinds: str, needing: list[str], layout: list[str], conj: bool, namespace: dict[str, Any]) -> None:
        self.facts = op, kinds, needing, layout, conj, namespace

    def __missing__(self, key: tuple[tuple[bool, ...], bool]) -> Any:
        op, kinds, needing, layout, conj, namespace = self.facts
        chosen = [name for name, wanted in zip(needing, key[0], strict=True) if wanted]
        text = apply_text(op, kinds, needing, chosen, layout, "apply", key[1], conj)
        own = namespace if op.joint is None else namespace | {"NEEDS": tuple(name in chosen for name in op.inputs)}
        self[key] = made = function_from(text, "apply", own)
        return made


def apply_text(
    op: Op, kinds: str, needing: list[str], chosen: list[str], layout: list[str], method: str, recorded: bool, conj: bool
) -> str:
    """The method of a node whose inputs `needing` require gradients; it computes those of `chosen`."""
    conj = conj and (recorded or op.joint is not None)  # the other rules have it done
    lines = [f"def {method}(self, g):"]
    used = saved_names(op, chosen)
    if layout:
        lines.append(f" {''.join(f's_{name}, ' for name in layout)} = self.saved")
    values = {"g": "g", "needs": "NEEDS"}
    for name in layout:
        values[name] = f"s_{name}"
        if name not in used:
            continue
        if name == "out":
            read = "output_tensor" if recorded else "output_array"
            lines.append(f" s_out = {read}(self, s_out)")
        elif name in op.inputs and kinds[op.inputs.index(name)] == "T":
            if recorded:
                lines.append(f" s_{name} = input_tensor(self, '{name}', {op.inputs.index(name)}, s_{name})")
            else:
                lines.append(f" if s_{name}._vc is not None: check_input(self, '{name}', s_{name})")
                values[name] = f"s_{name}._data"
                if op.joint is None and sum(name in parameters(op.rules[one]) for one in chosen) > 1:
                    lines.append(f" s_{name} = s_{name}._data")  # read once: a hook may unpack it
                    values[name] = f"s_{name}"
    if conj:
        lines.append(" g = conjugate(g)")
    rule = "rule" if recorded else "array_rule"
    if op.joint is not None:
        call = f"{rule}_all({', '.join(values[name] for name in parameters(op.joint))})"
        slots = ", ".join(f"grads[{op.inputs.index(name)}]" if name in chosen else "None" for name in needing)
        lines += [f" grads = {call}", f" grads = {'tuple(grads)' if op.sequence else f'({slots},)'}"]
    else:
        calls = []
        for name in needing:
            operands = ", ".join(values[p] for p in parameters(op.rules[name]))
            calls.append(f"{rule}_{name}({operands})" if name in chosen else "None")
        lines.append(f" grads = ({', '.join(calls)},)")
    if conj:
        lines.append(" grads = tuple(map(conjugate, grads))")
    lines += [" if self.restore is not None: return restored(self, grads)", " return grads"]
    return "\n".join(lines)
