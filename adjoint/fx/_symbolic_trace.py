"""Tracer: runs a function once with proxies, and keeps the graph of what it did."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any

from .._C import ScriptObject
from .._errors import spelled
from .._overriding import calls_as_written
from .._tensor import Parameter, Tensor
from ..nn import Module, Sequential
from ..nn._members import TABLES, Members
from ..utils import _pytree as pytree
from ._codegen import _PyTreeCodeGen, _PyTreeInfo
from ._compatibility import compatibility
from ._names import is_ours
from ._patching import _autowrap_check, _find_proxy, _patch_wrapped_functions, _Patcher, _wrapped_fns_to_patch
from .graph import Graph
from .graph_module import GraphModule
from .node import base_types
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = [
    "PH", "PHBase", "PHWithMeta", "Proxy", "ProxyableClassMeta", "ScriptObject", "Tracer", "_Patcher", "_autowrap_check", "_find_proxy",
    "_patch_function", "_patch_wrapped_functions", "_wrapped_fns_to_patch", "compatibility", "is_fx_symbolic_tracing", "is_fx_tracing",
    "symbolic_trace", "wrap",
]  # fmt: skip

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS

_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__
_proxyable_classes: dict[type, None] = {}
_is_fx_tracing_flag = False


def is_fx_tracing() -> bool:
    """Whether a function is being traced right now."""
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """The metaclass of classes whose objects may be made of proxies: making one becomes a node."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes[cls] = None
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls.__new__(cls)  # type: ignore[call-overload]
        proxy = _find_proxy(args, kwargs)
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        made.__init__(*args, **kwargs)
        return made


class PHBase:
    """In `concrete_args`: an input stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """The same for an input whose attributes the placeholder's node is to have."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


def _assert_is_none(value: Any, msg: str) -> None:
    assert value is None, msg


def _patch_function(fn: FunctionType, nargs: int) -> FunctionType:
    """The function with all its parameters by position: `*args` and `**kwargs` are one proxy each."""
    code = fn.__code__.replace(
        co_flags=fn.__code__.co_flags & ~HAS_VARSTUFF, co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0
    )
    return FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


def _annotation(fn: Any, name: str) -> Any:
    """The type of a parameter or a result, as the function's author wrote it; in our own files types are written for type checkers."""
    kind = getattr(fn, "__annotations__", {}).get(name)
    if is_ours(fn):
        return Tensor if kind == "Tensor" else None
    return kind


@contextmanager
def _looked_up(root: Module) -> Iterator[None]:
    """Inside, members of modules are no entries of `__dict__`, so that Python asks `Module.__getattr__` for them."""
    modules = [module for module in root.modules() if all(isinstance(module.__dict__.get(table), Members) for table in TABLES)]
    for module in modules:
        for table in TABLES:
            for name in module.__dict__[table]:
                module.__dict__.pop(name, None)
    try:
        yield
    finally:
        for module in modules:
            for table in TABLES:
                module.__dict__.update(module.__dict__[table])


class Tracer(TracerBase):
    """Makes graphs of functions and modules by running them with proxies.

    Derive from it to decide what stays a single node: `is_leaf_module(m, path)` for modules, `autowrap_functions` for functions.
    """

    def __init__(
        self, autowrap_modules: tuple[ModuleType, ...] = (math,), autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self._autowrap_search: list[ModuleType] = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self._names_of_constants: defaultdict[str, int] = defaultdict(int)

    # ---- arguments --------------------------------------------------------------------------------------------------------------------

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name of an attribute that the root does not have."""
        while True:
            name = f"{prefix}{self._names_of_constants[prefix]}"
            self._names_of_constants[prefix] += 1
            if not hasattr(self.root, name):
                return name

    def create_arg(self, a: Any) -> Any:
        """Tensors are kept as attributes of the root: those that it has, under their path; others under new names."""
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
        elif isinstance(a, Module):
            for name, module in self.root.named_modules():
                if a is module:
                    return self.create_node("get_attr", name, (), {})
        elif isinstance(a, tuple) and hasattr(a, "_fields"):  # a named tuple is made anew by its class
            return self.create_node("call_function", type(a), tuple(self.create_arg(item) for item in a), {})
        if isinstance(a, Tensor):
            path = self.tensor_attrs.get(a)
            if path is None:
                path = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[a] = path
                setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        if type(a) in _proxyable_classes:
            path = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        return super().create_arg(a)

    # ---- modules ----------------------------------------------------------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module stays a single node: the library's own do, except Sequential."""
        return m.__module__.startswith(("torch.nn", "torch.ao.nn", "adjoint.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Where a module is within the root."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is not None:
                return path
        else:
            for name, module in self.root.named_modules():
                if module is mod:
                    return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Called instead of each module: a leaf becomes a node, another one runs."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            self.num_calls[path] = calls + 1
            self.module_stack[f"{scope.module_path}@{calls}" if calls else scope.module_path] = path, scope.module_type
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            self.module_stack.popitem(last=True)
        return result

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Called with each member of a module that the program reads: of parameters it gets proxies."""
        if isinstance(attr_val, Parameter):
            found = self._proxy_of_member(attr_val, self.root.named_parameters(), parameter_proxy_cache)
            return attr_val if found is None else found
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            found = self._proxy_of_member(attr_val, self.root.named_buffers(), parameter_proxy_cache)
            return attr_val if found is None else found
        return attr_val

    def _proxy_of_member(self, value: Tensor, members: Iterator[tuple[str, Any]], cache: dict[str, Any]) -> Any:
        for name, member in members:
            if member is value:
                if name not in cache:
                    options: dict[str, Any] = {}  # none for the usual case: tracers that are derived from this one may know of no more
                    if self.param_shapes_constant:
                        options["proxy_factory_fn"] = lambda node, name=name: ParameterProxy(self, node, name, value)
                    cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
                return cache[name]
        return None

    # ---- inputs -----------------------------------------------------------------------------------------------------------------------

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: dict[str, Any] | tuple[Any, ...] | None = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Placeholders for the parameters of a function, and the function that takes them."""
        described: Any = inspect.unwrap(root_fn)
        code = described.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = iter(code.co_varnames)
        args: list[Any] = []
        if is_module:
            if count == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            next(names)
            args.append(self.root)
            count -= 1
        signature = inspect.signature(described)
        own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if isinstance(concrete_args, tuple):
            if len(own) - is_module != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(own) - is_module} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(own[is_module:], concrete_args, strict=True))
        args += [self._proxy_placeholder(next(names), concrete_args, signature, described) for _ in range(count)]
        if code.co_kwonlyargcount > 0 or code.co_flags & HAS_VARSTUFF:
            if code.co_flags & inspect.CO_VARARGS:
                args.append(self._proxy_placeholder(f"*{next(names)}", concrete_args, signature, described))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(self._proxy_placeholder(f"**{next(names)}", concrete_args, signature, described))
            root_fn = _patch_function(described, len(args))
        flat, in_spec = pytree.tree_flatten(tuple(args))
        if concrete_args is None or all(spec.is_leaf() for spec in in_spec.children_specs):
            return root_fn, args
        codegen = _PyTreeCodeGen(_PyTreeInfo(list(own), in_spec, None))
        self.graph._codegen = codegen

        def flattened(*leaves: Any) -> Any:
            result = root_fn(*pytree.tree_unflatten(list(leaves), in_spec))
            outputs, out_spec = pytree.tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return outputs

        return flattened, flat

    def _proxy_placeholder(self, name: str, concrete_args: dict[str, Any] | None, signature: inspect.Signature, described: Any) -> Any:
        if concrete_args is not None and name in concrete_args:
            return self._specialized(name, concrete_args[name], signature)
        default: tuple[Any, ...] = ()
        if not name.startswith("*"):
            parameter = signature.parameters[name]
            default = () if parameter.default is parameter.empty else (parameter.default,)
        kind = _annotation(described, name)
        return self.create_proxy("placeholder", name, default, {}, type_expr=kind)

    def _specialized(self, name: str, value: Any, signature: inspect.Signature) -> Any:
        """Inputs for the leaves of a concrete argument, each of which must be what it is now."""
        parameter = signature.parameters[name]
        default = () if parameter.default is parameter.empty else (parameter.default,)
        places = iter(range(1, sys.maxsize))

        def replaced(leaf: Any) -> Any:
            proxy = self.create_proxy("placeholder", f"{name}_{next(places)}", default, {})
            if isinstance(leaf, PHBase):
                if leaf is not PH:
                    for key, item in vars(leaf).items():
                        if not hasattr(proxy.node, key):
                            setattr(proxy.node, key, item)
                return proxy
            if leaf is None:
                told = f"{name} has been specialized to have value None but got another value"
                self.create_proxy("call_function", _assert_is_none, (proxy, told), {})
            elif isinstance(leaf, base_types) and not isinstance(leaf, Tensor):
                told = f"{name} has been specialized to have value {leaf} but got another value"
                sys.modules["adjoint"]._assert(proxy == leaf, told)
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the user to "
                    "make sure that your inputs match the inputs you specialized the function with.",
                    stacklevel=2,
                )
            return leaf

        return pytree.tree_map(replaced, value)

    # ---- tracing ----------------------------------------------------------------------------------------------------------------------

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's `forward`, or of a function. `concrete_args` are values that arguments have for good."""
        global _is_fx_tracing_flag
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            return self._trace(root, concrete_args)
        finally:
            _is_fx_tracing_flag = before
            self.submodule_paths = None

    def _trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None) -> Graph:
        fn: Any
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                )
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root = Module()
            fn = root
        self.graph = Graph(tracer_cls=type(self))
        code = getattr(fn, "__code__", None)
        if code is not None:
            self.graph._co_fields = {name: getattr(code, name) for name in ("co_name", "co_filename", "co_firstlineno")}
        self.tensor_attrs: dict[Any, str] = {}
        self._collect_tensors(self.root, "")
        described = inspect.unwrap(fn)
        run, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
        with _Patcher() as patcher, _looked_up(self.root), calls_as_written():
            self._patch_modules(patcher)
            _patch_wrapped_functions(patcher)
            _autowrap_check(patcher, described.__globals__, self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap_check(patcher, module.__dict__, self._autowrap_function_ids)
            kind = _annotation(described, "return")
            self.create_node("output", "output", (self.create_arg(run(*args)),), {}, type_expr=kind)
        return self.graph

    def _collect_tensors(self, module: Module, prefix: str) -> None:
        """The tensors that are plain attributes of modules, by their path."""
        members = set(chain.from_iterable(module.__dict__.get(table, ()) for table in TABLES))
        for name, value in module.__dict__.items():
            if isinstance(value, Tensor) and name not in members:
                self.tensor_attrs[value] = f"{prefix}{name}"
        for name, child in module.named_children():
            self._collect_tensors(child, f"{prefix}{name}.")

    def _patch_modules(self, patcher: _Patcher) -> None:
        cache: dict[str, Any] = {}

        @functools.wraps(_orig_module_call)
        def call(mod: Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return _orig_module_call(mod, *args, **kwargs)

            _autowrap_check(patcher, getattr(mod.forward, "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(mod, forward, args, kwargs)

        @functools.wraps(_orig_module_getattr)
        def read(mod: Module, name: str) -> Any:
            return self.getattr(name, _orig_module_getattr(mod, name), cache)

        patcher.patch_method(Module, "__getattr__", read)
        patcher.patch_method(Module, "__call__", call)


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module that does what `root` does, by a graph of it.

    >>> import adjoint as ad
    >>> model = ad.nn.Sequential(ad.nn.Linear(3, 2), ad.nn.ReLU())
    >>> print(ad.fx.symbolic_trace(model).graph)
    graph():
        %input_1 : [num_users=1] = placeholder[target=input]
        %_0 : [num_users=1] = call_module[target=0](args = (%input_1,), kwargs = {})
        %_1 : [num_users=1] = call_module[target=1](args = (%_0,), kwargs = {})
        return _1
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root._get_name() if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Keep calls of a function as single nodes when a module is traced; say so at the top level of the file that calls it.

    It is the function itself, as a decorator too, or its name, for Python's own: `torch.fx.wrap("len")`.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe().f_back  # type: ignore[union-attr]
    if frame is None or frame.f_code.co_name != "<module>":
        raise NotImplementedError(
            spelled(
                "wrap must be called at the top level of a module\n"
                f"  fix: write torch.fx.wrap({name!r}) outside of functions and classes, in the file where {name} is called"
            )
        )
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name
