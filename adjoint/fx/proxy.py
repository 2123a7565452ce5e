"""Proxy: stands for a value while a function is traced, and writes down what is done with it."""

from __future__ import annotations

import copy
import dis
import enum
import inspect
import operator
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import FrameType
from typing import Any, NoReturn

from .._overriding import install
from .._site import is_user
from .._tensor import Tensor
from ..overrides import is_tensor_method_or_property
from ._codegen import magic_methods, reflectable_magic_methods
from ._names import call_in_pytorch, qualified_name
from .graph import Graph
from .node import Node, Target, base_types, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """What was to be traced depends on a value, and there is none yet."""


class Scope:
    """The module whose `forward` is running."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Inside the `with` block, the tracer's scope is another one."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope = scope
        self._before = copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *_: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """What makes nodes of calls. `Tracer` runs a function to find the calls; `GraphAppendingTracer` adds single ones to a graph."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, type]]

    def create_node(
        self, kind: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None
    ) -> Node:
        """Add a node to the graph, and what is known of where it comes from."""
        if kind == "call_function" and self.check_mutable_operations:
            _refuse_changes(target)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = self.scope.module_path, self.scope.module_type
        if self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        from . import traceback as fx_traceback

        if fx_traceback.has_preserved_node_meta():
            node.meta.update({key: value for key, value in fx_traceback.get_current_meta().items() if key != "nn_module_stack"})
        return node

    def proxy(self, node: Node) -> Proxy:
        """What stands for a node's value."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:  # fmt: skip
        """Make a node of a call whose arguments may hold proxies."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args_, tuple) or not isinstance(kwargs_, dict):
            raise AssertionError("create_arg() of a tuple must be a tuple, and of a dict a dict")
        node = self.create_node(kind, target, args_, kwargs_, name, type_expr)
        proxy = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not proxy.node.stack_trace and (lines := _user_lines()):
            proxy.node.stack_trace = "".join(traceback.StackSummary.from_list(lines).format()).strip()
        return proxy

    def create_arg(self, a: Any) -> Any:
        """An argument as a node keeps it: with nodes in the place of proxies. What a graph cannot keep is refused."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if is_dataclass(a) and not isinstance(a, type):
            return self.create_node("call_function", type(a), (), {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a)})
        if isinstance(a, (*base_types, enum.Enum, Node)) or a is None or a is ...:
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        def refuse(node: Any) -> Any:
            if isinstance(node, Node):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")
            return node

        key = self.create_arg(key)
        map_aggregate(key, refuse)
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """Asked when the program branches on a value."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Asked when the program iterates over a value."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function "
            "argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, "
            "and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """Asked when a value is passed as `**value`."""
        return Attribute(obj, "keys")()


def _user_lines() -> list[traceback.FrameSummary]:
    """The lines of the program that is being traced that are running now, the outermost first."""
    frame: FrameType | None = sys._getframe(1)
    frames = []
    while frame is not None and frame.f_code.co_name != "_trace":
        if is_user(frame.f_code.co_filename):
            frames.append((frame, frame.f_lineno))
        frame = frame.f_back
    return list(traceback.StackSummary.extract(reversed(frames)))


def _refuse_changes(target: Any) -> None:
    name = getattr(target, "__name__", "")
    if name.endswith("_") and not name.endswith("__") and name not in ("and_", "or_"):
        raise RuntimeError(
            f"Tried to trace mutable operation {qualified_name(target)}. FX only supports functional code, so operations that mutate "
            "operands in-place (e.g. via `out` arguments) are not supported"
        )


class GraphAppendingTracer(TracerBase):
    """Writes operations on proxies to the end of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.node_name_to_scope = {}


def assert_fn(x: Any) -> None:
    assert x


class Proxy:
    """Stands for the value of a node. Operators, functions and methods of it become nodes of the same graph; what would need the value
    (a branch, a loop, `len`, `int`) is refused, because there is none.

    To loop over a proxy, give the tracer's class an `iter` that knows how many items there are; to branch, a `to_bool`. Functions that
    cannot be traced are kept as single calls by `wrap`, modules by `is_leaf_module`.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        install()  # functions look for proxies among their arguments from now on
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k in ("node", "tracer"):  # of an object that is being copied
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        twin = object.__new__(type(self))
        twin.__dict__ = {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()}
        return twin

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, key), {})

    def __iter__(self) -> Iterator[Any]:
        count = _unpacked(inspect.currentframe().f_back)  # type: ignore[union-attr]
        return self.tracer.iter(self) if count is None else (self[place] for place in range(count))

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _asserted(inspect.currentframe().f_back):  # type: ignore[union-attr]
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def find(value: Any) -> None:
            if isinstance(value, cls):
                tracers[value.tracer] = None

        map_aggregate(args, find)
        map_aggregate(kwargs, find)
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations {func}")
        (tracer,) = tracers
        if is_tensor_method_or_property(func) or _called_of_a_tensor(func, args):
            return tracer.create_proxy("call_method", func.__name__, args, kwargs)
        args, kwargs = call_in_pytorch(func, args, kwargs)
        return tracer.create_proxy("call_function", func, args, kwargs, name=tracer.graph._target_to_str(func))


def _called_of_a_tensor(func: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function that is a method too was called as such. `Tensor.add` is `add` itself; what has a tensor on the left is taken
    for an operator or a method of it, as almost always it is."""
    return bool(args) and isinstance(args[0], Tensor) and getattr(Tensor, getattr(func, "__name__", ""), None) is func


def _instruction(frame: FrameType | None) -> list[dis.Instruction]:
    """The instruction that is running in a frame, and those after it."""
    if frame is None:
        return []
    instructions = [item for item in dis.get_instructions(frame.f_code) if item.opname not in ("CACHE", "EXTENDED_ARG")]
    return [item for item in instructions if item.offset >= frame.f_lasti]


def _unpacked(frame: FrameType | None) -> int | None:
    """How many names `a, b = proxy` has; None if the proxy is iterated over in another way."""
    running = _instruction(frame)
    return int(running[0].argval) if running and running[0].opname == "UNPACK_SEQUENCE" else None


def _asserted(frame: FrameType | None) -> bool:
    """Whether a frame is at `assert proxy`: a jump that is taken if it holds, over the loading of an AssertionError."""
    following = _instruction(frame)[:3]
    return any(item.opname in ("LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT") for item in following)


class Attribute(Proxy):
    """An attribute of a proxy. It becomes a node when it is used; called, it is a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose shape is known, so that a program may branch on it."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        return self.param.shape

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def size(self, *dim: int) -> Any:
        return self.param.size(*dim)

    def dim(self) -> int:
        return self.param.dim()

    def numel(self) -> int:
        return self.param.numel()

    def nelement(self) -> int:
        return self.param.nelement()


def _define_operators() -> None:
    """Give proxies the operators, each of which makes a node of the function in the module `operator`."""

    def forward(function: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            return args[0].tracer.create_proxy("call_function", function, args, kwargs)

        return operation

    def reflected(function: Callable[..., Any]) -> Callable[..., Any]:
        def operation(self: Proxy, other: Any) -> Any:
            return self.tracer.create_proxy("call_function", function, (other, self), {})

        return operation

    for name in magic_methods:
        if name != "div":  # which Python no longer has
            plain = name.strip("_")
            setattr(Proxy, f"__{plain}__", forward(getattr(operator, name)))
            if name in reflectable_magic_methods:
                setattr(Proxy, f"__r{plain}__", reflected(getattr(operator, name)))


_define_operators()
