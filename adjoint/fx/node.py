"""Node: one step of a graph, with what it calls, its arguments, and who uses its result."""

from __future__ import annotations

import builtins
import operator
import types
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _dtype as _dtypes
from .._C import _set_grad_enabled
from .._device import device
from .._layout import layout, memory_format
from .._symbolic import _assert
from .._tensor import Tensor
from ._names import qualified_name
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

BaseArgumentTypes = str | int | float | bool | complex | _dtypes.dtype | Tensor | device | memory_format | layout
base_types = BaseArgumentTypes.__args__
Target = Callable[..., Any] | str
Argument = Any
F = TypeVar("F", bound=Callable[..., Any])

_legal_ops = dict.fromkeys(("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"))

# What must not be removed although nobody uses its result.
_side_effectful_functions: set[Callable[..., Any]] = {operator.setitem, _assert, _set_grad_enabled}

dtype_abbrs = {
    _dtypes.PUBLIC[name]: short
    for name, short in {
        "bfloat16": "bf16", "float64": "f64", "float32": "f32", "float16": "f16", "complex64": "c64", "complex128": "c128", "int8": "i8",
        "int16": "i16", "int32": "i32", "int64": "i64", "bool": "b8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    }.items()
    if name in _dtypes.PUBLIC
}  # fmt: skip


def has_side_effect(fn: F) -> F:
    """Mark a function as one that must be called even if nobody uses its result."""
    _side_effectful_functions.add(fn)
    return fn


# ---- names of types and functions -----------------------------------------------------------------------------------------------------

_get_qualified_name = qualified_name


def _find_module_of_method(orig_method: Callable[..., Any]) -> str:
    return qualified_name(orig_method).rpartition(".")[0]


def _type_repr(obj: object) -> str:
    """A type as it is written in a signature."""
    if isinstance(obj, type) and getattr(obj, "__origin__", None) is None:
        return obj.__qualname__ if obj.__module__ == "builtins" else qualified_name(obj)
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


def _format_arg(arg: object, max_list_len: float = float("inf")) -> str:
    """An argument as it is shown in the text of a graph."""
    if isinstance(arg, list | tuple):
        shown = [_format_arg(item) for place, item in enumerate(arg) if place < max_list_len]
        if len(arg) > len(shown):
            shown.append(f"...[total_len={len(arg)}]")
        text = ", ".join(shown)
        if isinstance(arg, list):
            return f"[{text}]"
        return f"({text},)" if len(arg) == 1 else f"({text})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


# ---- arguments ------------------------------------------------------------------------------------------------------------------------


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """A nest of tuples, lists, dictionaries and slices with `fn` of everything in them. What could be changed comes back unchangeable."""
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(value, fn)) for key, value in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """The same with `fn` of the nodes only."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda item: fn(item) if isinstance(item, Node) else item)


# ---- the node ---------------------------------------------------------------------------------------------------------------------------


class Node:
    """One step of a Graph.

    `op` says what `target` is: the name of a `placeholder` (an input) or of an attribute (`get_attr`), a `call_function`'s function, a
    `call_method`'s method of its first argument, the path of a `call_module`'s module; `output` returns its one argument.
    `args` and `kwargs` hold Nodes where the step takes other steps' results, and `users` are the nodes that take this one's.
    """

    def __init__(
        self, graph: Graph, name: str, op: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any], return_type: Any = None
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if (op == "call_function") != callable(target):
            expected = "a Callable" if op == "call_function" else "a str"
            kind = getattr(target, "__name__", type(target).__name__)
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {kind} but {expected} is expected")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.meta: dict[str, Any] = {}
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._set_arguments(args, kwargs)

    # ---- place in the graph -----------------------------------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        return self._next

    @property
    def prev(self) -> Node:
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of this graph to the place before this one."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            warnings.warn(f"Trying to prepend a node to itself. This behavior has no effect on the graph.\n{self}", stacklevel=2)
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        self.graph._changed()

    def append(self, x: Node) -> None:
        """Move a node of this graph to the place after this one."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        # Its own links stay, so that whoever is walking over the graph finds the way on.
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other: Node) -> bool:
        return self.graph._position(self) < self.graph._position(other)

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return other <= self

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    # ---- arguments --------------------------------------------------------------------------------------------------------------------

    def _set_arguments(self, args: Any, kwargs: Any) -> None:
        """Take new arguments, and tell the nodes in them."""
        inputs: dict[Node, None] = {}

        def noted(node: Node) -> Node:
            inputs[node] = None
            return node

        new_args, new_kwargs = map_arg(args, noted), map_arg(kwargs, noted)
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = new_args, new_kwargs, inputs
        for node in inputs:
            node.users[self] = None

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments by position. Assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Any, ...]) -> None:
        self._set_arguments(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by keyword. Assign a new dictionary to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._set_arguments(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Change one argument by position."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Add an argument before the one at this position."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Change or add one argument by keyword."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take another node's result wherever this one takes `old_input`'s."""

        def other(node: Node) -> Node:
            return new_input if node is old_input else node

        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)
        self._set_arguments(map_arg(self.args, other), map_arg(self.kwargs, other))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Have the users of this node use another one; those for which `delete_user_cb` is false go on as they are."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        users = [user for user in self.users if delete_user_cb(user)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    # ---- what is known of it ----------------------------------------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that made this node, if the tracer recorded them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the step must be kept even if nobody uses its result."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if getattr(getattr(self.target, "_schema", None), "is_mutable", False):
                return True
            if impure_random and getattr(self.target, "_nondeterministic_seeded", False):
                return True
            return self.target in _side_effectful_functions
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            target = module.get_submodule(str(self.target))
            return bool(getattr(target, "_is_impure", False))
        return False

    def normalized_arguments(
        self, root: Any, arg_types: Any = None, kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False
    ) -> Any:
        """The arguments of a call of a function or module in the order of its signature, with defaults."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs)  # type: ignore[arg-type]
        if self.op == "call_module":
            return normalize_module(root, str(self.target), self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    def _rename(self, candidate: str) -> None:
        """Take another name, or one like it that is free."""
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    # ---- text -------------------------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        if isinstance(target, str):
            return target
        module, name = getattr(target, "__module__", None), getattr(target, "__name__", "")
        if module == "builtins" and vars(builtins).get(name) is target:
            return f"builtins.{name}"
        return f"operator.{name}" if module == "_operator" else qualified_name(target)

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None,
        *, include_tensor_metadata: bool = False,
    ) -> str | None:  # fmt: skip
        """The node as a line of the graph's text. Lists that are given take the inputs, and the type of the result."""
        kind = f"{_type_repr(self.type)} " if self.type else ""
        metadata = tensor_text(self.meta) if include_tensor_metadata else ""
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        if self.op == "placeholder" and placeholder_names:
            placeholder_names.append(f"{self.target}: {_type_repr(self.type)}" if self.type else str(self.target))
            return None
        text = f"%{self.name} : {kind}[num_users={len(self.users)}]{metadata} = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            return text + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return text
        return f"{text}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"


def tensor_text(meta: dict[str, Any], stride: bool = False, device: bool = False) -> str:
    """What is known of a node's tensor, as an annotation: `"f32[2, 3]"`; nothing if nothing is known."""
    value: Any = meta.get("val", meta.get("tensor_meta"))
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return ""
    strides = value.stride() if callable(getattr(value, "stride", None)) else getattr(value, "stride", ())
    text = f"{dtype_abbrs.get(value.dtype, value.dtype)}[{', '.join(map(str, value.shape))}]"
    text += f"[{', '.join(map(str, strides))}]" if stride else ""
    return f'"{text}{getattr(value, "device", "") if device else ""}"'
