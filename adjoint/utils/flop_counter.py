"""PyTorch's `torch.utils.flop_counter`: the floating-point operations of matrix products and convolutions, by module."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Self

from .._site import warn
from .._tensor import Tensor
from ..nn._hooks import register_module_forward_hook, register_module_forward_pre_hook
from ._python_dispatch import TorchDispatchMode

__all__ = ["FlopCounterMode", "register_flop_formula"]

Shape = tuple[int, ...]
Formula = Callable[..., int]
flop_registry: dict[str, Formula] = {}


def register_flop_formula(targets: Any) -> Callable[[Formula], Formula]:
    """Count an op too: `formula(*shapes_of_its_arguments, out_shape=...)`, where arguments that are no tensors stand as they are."""
    names = [_name(target) for target in (targets if isinstance(targets, list | tuple) else [targets])]

    def register(formula: Formula) -> Formula:
        flop_registry.update(dict.fromkeys(names, formula))
        return formula

    return register


def _name(op: Any) -> str:
    """The name of an op without its namespace and overload."""
    parts = str(op).replace("::", ".").split(".")
    return parts[1] if len(parts) > 1 else parts[0]


@register_flop_formula(["mm", "bmm", "matmul"])
def _product(a: Shape, b: Shape, *_: Any, out_shape: Shape, **__: Any) -> int:
    return 2 * math.prod(out_shape) * a[-1]


@register_flop_formula(["addmm", "baddbmm", "addmv", "addbmm"])
def _added_product(start: Any, a: Shape, b: Shape, *_: Any, out_shape: Shape, **__: Any) -> int:
    return 2 * math.prod(a) * (b[-1] if len(b) > 1 else 1)


@register_flop_formula("linear")
def _linear(x: Shape, weight: Shape, *_: Any, out_shape: Shape, **__: Any) -> int:
    return 2 * math.prod(x) * (weight[0] if len(weight) > 1 else 1)


@register_flop_formula("convolution")
def _convolution(x: Shape, weight: Shape, *_: Any, out_shape: Shape, **__: Any) -> int:
    return 2 * math.prod(out_shape) * math.prod(weight[1:])


@register_flop_formula("convolution_transposed")
def _transposed_convolution(x: Shape, weight: Shape, *_: Any, out_shape: Shape, **__: Any) -> int:
    return 2 * math.prod(x) * math.prod(weight[1:])


@register_flop_formula("recurrent_layer")
def _recurrent(x: Shape, state: Any, from_input: Shape, from_state: Shape, *_: Any, out_shape: Shape, **__: Any) -> int:
    return 2 * x[0] * (math.prod(from_input) + math.prod(from_state))


class FlopCounterMode(TorchDispatchMode):
    """Counts what is computed in a `with` block, in backward passes too: there, a product is computed again for each factor that needs it.

    >>> import adjoint as ad
    >>> from adjoint.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = ad.nn.Linear(10, 5)(ad.ones(3, 10))
    >>> counter.get_total_flops()
    300
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None) -> None:
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it: modules are found by themselves")
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.flop_registry = flop_registry | {_name(op): formula for op, formula in (custom_mapping or {}).items()}
        self._modules: list[str] = []
        self._names: dict[int, str] = {}
        self._handles: list[Any] = []

    def get_total_flops(self) -> int:
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """For each module, and for "Global", the operations of each op."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """What was counted, one module to a line."""
        most = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        rows = [("Module", "FLOP", "% Total")]
        for module in sorted(self.flop_counts, key=lambda name: (name != "Global", name)):
            level = 0 if module == "Global" else module.count(".") + 1
            if level <= most:
                rows += [(" " * level + module, _amount(sum(self.flop_counts[module].values())), _share(self.flop_counts[module], total))]
                rows += [(f"{' ' * level} - {op}", _amount(n), f"{100 * n / total:.2f}%") for op, n in self.flop_counts[module].items()]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = [f"{name:<{widths[0]}}  {count:>{widths[1]}}  {share:>{widths[2]}}" for name, count, share in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self._handles = [register_module_forward_pre_hook(self._enter_module), register_module_forward_hook(self._leave_module)]
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        for handle in self._handles:
            handle.remove()
        self._modules.clear()
        if self.display:
            print(self.get_table())

    def _enter_module(self, module: Any, inputs: Any) -> None:
        if not self._modules:
            outer = type(module).__name__
            self._names = {id(part): f"{outer}.{path}" if path else outer for path, part in module.named_modules()}
        self._modules.append(self._names.get(id(module), type(module).__name__))

    def _leave_module(self, module: Any, inputs: Any, output: Any) -> None:
        self._modules.pop()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = _name(func)
        formula = self.flop_registry.get(name)
        if formula is None:
            return result
        first = result[0] if isinstance(result, tuple) else result
        shapes = [tuple(x.shape) if isinstance(x, Tensor) else x for x in args]
        count = formula(*shapes, **(kwargs or {}), out_shape=tuple(first.shape))
        modules = dict.fromkeys(("Global", *self._modules))
        self._add(f"aten.{name}", count, modules)
        factors = [x for x in args if isinstance(x, Tensor) and x.requires_grad and x.dim() > 1]
        if first.grad_fn is not None and factors:
            again = count * min(len(factors), 2)
            first.grad_fn.register_prehook(lambda _: self._add(f"aten.{name}_backward", again, modules))
        return result

    def _add(self, op: str, count: int, modules: dict[str, None]) -> None:
        for module in modules:
            self.flop_counts[module][op] += count


def _amount(count: int) -> str:
    for power, unit in ((12, "T"), (9, "B"), (6, "M"), (3, "K")):
        if count >= 10**power:
            return f"{count / 10**power:.3f}{unit}"
    return str(count)


def _share(counts: dict[str, int], total: int) -> str:
    return f"{100 * sum(counts.values()) / total:.2f}%"
