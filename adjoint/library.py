"""PyTorch's `torch.library`: operators of your own, which `torch.ops` finds by their names.

    @torch.library.custom_op("mine::sine", mutates_args=())
    def sine(x: Tensor) -> Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

`register_autograd` gives such an operator a derivative, `register_fake` the shape of its result for tensors without elements (the meta
device), `register_vmap` a rule for batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ._errors import spelled
from ._opcheck import opcheck
from ._ops import OPERATORS, define_operator, operator_of, remove_operator
from ._schema import infer_schema, parse_schema
from ._standing import refused

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "impl_abstract", "infer_schema", "opcheck",
    "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap", "triton_op",
    "wrap_triton",
]  # fmt: skip

Kernel = Callable[..., Any]
DEVICES = {"CPU": "cpu", "Meta": "meta", "CompositeExplicitAutograd": "default", "CompositeExplicitAutogradNonFunctional": "default",
           "": "composite", "CompositeImplicitAutograd": "composite", "Autograd": "autograd", "AutogradCPU": "autograd"}  # fmt: skip


@refused("fallthrough_kernel() should never be called: it stands for no kernel, as in lib.impl(name, fallthrough_kernel, key)")
def fallthrough_kernel() -> None:
    """Stands for no kernel at all."""


# ---- custom_op ----------------------------------------------------------------------------------------------------------------------


class CustomOpDef:
    """What `custom_op` makes of a function: an operator that is called like it."""

    def __init__(self, qualname: str, schema: str, fn: Kernel, tags: Sequence[Any]) -> None:
        self._qualname = qualname
        self._init_fn = fn
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__
        self._opoverload = define_operator(parse_schema(qualname + schema))
        self._opoverload.own_graph = False
        self._opoverload.tags = listed(tags)
        self._namespace, self._name = qualname.split("::")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: Any, fn: Kernel | None = None, /) -> Any:
        """Another implementation, for tensors on a device."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn: Kernel, /) -> Kernel:
        """What the result looks like for tensors without elements."""
        return register_fake(self, fn)  # type: ignore[no-any-return]

    def register_autograd(self, backward: Kernel, /, *, setup_context: Kernel | None = None) -> None:
        """The derivative: `backward(ctx, *grads)` returns one for each argument."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Kernel | None = None) -> Any:
        """A rule for batches: `func(info, in_dims, *args)` returns the result and its batch dimensions."""
        return register_vmap(self, func)

    def register_torch_dispatch(self, torch_dispatch_class: type, fn: Kernel | None = None, /) -> Any:
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        register_autocast(self, device_type, cast_inputs)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside, the kernel of a device is used, or the one for all devices instead of it."""
        disabled = self._opoverload.disabled
        before = set(disabled)
        (disabled.discard if enabled else disabled.add)(device_type)
        try:
            yield
        finally:
            self._opoverload.disabled = before


def custom_op(
    name: str, fn: Kernel | None = None, /, *, mutates_args: str | Iterable[str], device_types: Any = None, schema: str | None = None,
    tags: Sequence[Any] | None = None,
) -> Any:  # fmt: skip
    """Make an operator of a function, whose annotations are its signature.

    >>> import adjoint as ad
    >>> @ad.library.custom_op("docs::twice", mutates_args=())
    ... def twice(x: ad.Tensor) -> ad.Tensor:
    ...     return x * 2
    >>> twice.register_autograd(lambda ctx, grad: grad * 2)
    >>> x = ad.ones(2, requires_grad=True)
    >>> ad.ops.docs.twice(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def make(function: Kernel) -> CustomOpDef:
        signature = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        check_name(name)
        remove_operator(name)  # the cell of a notebook is run again
        made = CustomOpDef(name, signature, function, tags or ())
        register_kernel(made, device_types, function)
        return made

    return make if fn is None else make(fn)


def check_name(name: str) -> None:
    if name.count("::") != 1 or not all(name.split("::")):
        raise ValueError(f"Expected `qualname` to have the form 'namespace::name', but got {name!r}\n  fix: 'mine::{name.strip(':')}'")


# ---- registering --------------------------------------------------------------------------------------------------------------------


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Sequence[Any] = ()) -> None:
    """Define an operator by its signature: `define("mine::scale", "(Tensor x, float by) -> Tensor")`. It goes when `lib` is destroyed.

    What else is registered for an operator (`register_kernel` and the others) stays as long as the operator, whichever `lib` it is for.
    """
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    check_name(qualname)
    if not schema.lstrip().startswith("("):
        raise ValueError(f"define(qualname, schema, ...): expected schema to look like e.g. \"(Tensor x) -> Tensor\" but got \"{schema}\"")
    operator = define_operator(parse_schema(qualname + schema))
    operator.tags = listed(tags)
    for kernels in _early.pop(qualname, ()):
        operator.kernels.update(kernels)
    if lib is not None:
        lib._op_defs.add(operator.name())


def listed(tags: Any) -> list[Any]:
    return list(tags) if isinstance(tags, list | tuple) else [tags]


def later(register: Callable[[Kernel], Any], fn: Kernel | None) -> Any:
    """Register a function now, or as a decorator."""
    if fn is not None:
        register(fn)
        return fn

    def decorate(function: Kernel) -> Kernel:
        register(function)
        return function

    return decorate


def register_kernel(op: Any, device_types: Any, func: Kernel | None = None, /, *, lib: Library | None = None) -> Any:
    """An implementation for the tensors of some devices ("cpu"), or of all (None)."""
    operator = operator_of(op)
    names = ["default"] if device_types is None else [device_types] if isinstance(device_types, str) else list(device_types)
    return later(lambda fn: operator.kernels.update(dict.fromkeys(names, fn)), func)


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Library | None = None) -> Any:
    """An implementation of an operator that `define` has defined; or `impl(lib, name, dispatch_key)`, as a decorator."""
    if isinstance(qualname, Library):
        library, name, key = qualname, types, "" if func is None else func
        return later(lambda fn: library.impl(name, fn, key), None)
    keys = [types] if isinstance(types, str) else list(types)

    def register(fn: Kernel) -> None:
        kernels = {DEVICES.get(key, key): fn for key in keys}
        if isinstance(qualname, str) and qualname not in OPERATORS:
            _early.setdefault(qualname, []).append(kernels)
        else:
            operator_of(qualname).kernels.update(kernels)

    return later(register, func)


_early: dict[str, list[dict[str, Kernel]]] = {}  # implementations that came before the definition of their operator


def register_fake(op: Any, func: Kernel | None = None, /, *, lib: Library | None = None, allow_override: bool = False) -> Any:
    """What the result looks like for tensors without elements. A later function takes the place of an earlier one, as in PyTorch, with
    and without `allow_override`."""
    operator = operator_of(op)
    return later(lambda fn: operator.kernels.update(meta=fn), func)


def impl_abstract(qualname: Any, func: Kernel | None = None, *, lib: Library | None = None) -> Any:
    """The older name of `register_fake`."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any, backward: Kernel, /, *, setup_context: Kernel | None = None, lib: Library | None = None
) -> None:
    """The derivative of an operator: `backward(ctx, *grads)` returns one gradient for each argument, None where there is none.
    `setup_context(ctx, inputs, output)` keeps what it needs."""
    operator = operator_of(op)
    if operator._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {operator} with schema {operator._schema}. Please create a "
            "functional operator and register an autograd formula for that."
        )
    operator.backward, operator.setup_context = backward, setup_context
    operator.forget()


def register_vmap(op: Any, func: Kernel | None = None, /, *, lib: Library | None = None) -> Any:
    """A rule for batches: `func(info, in_dims, *args)` returns the result and its batch dimensions."""
    operator = operator_of(op)

    def register(fn: Kernel) -> None:
        operator.batching = fn
        operator.forget()

    return later(register, func)


def register_torch_dispatch(op: Any, torch_dispatch_class: type, func: Kernel | None = None, /, *, lib: Library | None = None) -> Any:
    """What is done instead if a mode or tensor of a class that sees ops gets this operator: `func(mode, func, types, args, kwargs)`."""
    operator = operator_of(op)
    return later(lambda fn: operator.dispatches.update({torch_dispatch_class: fn}), func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> None:
    """The dtype that floating-point tensors get before the operator runs under autocast."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if device_type == "cpu":
        operator_of(op).autocast = cast_inputs


def get_ctx() -> None:
    """What a fake implementation asks for sizes that depend on values; there is none here, so it gives None, as outside of one."""
    return None


def triton_op(name: str, fn: Kernel | None = None, /, *, mutates_args: Any, schema: str | None = None) -> Any:
    """An operator whose function may launch Triton kernels: it is defined as by `custom_op`, and runs where it launches none
    (`wrap_triton` refuses). Its function also says what the result looks like for tensors without elements."""

    def make(function: Kernel) -> CustomOpDef:
        made: CustomOpDef = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        made.register_fake(function)
        return made

    return make if fn is None else make(fn)


@refused("adjoint runs no Triton kernels; register a function of NumPy or tensors with torch.library.custom_op")
def wrap_triton(triton_kernel: Any, /) -> Any: ...


# ---- Library ------------------------------------------------------------------------------------------------------------------------

_defining: set[str] = set()  # namespaces that a Library(..., "DEF") is for


class Library:
    """A namespace of operators that are defined by their signatures.

    >>> import adjoint as ad
    >>> lib = ad.library.Library("docs_lib", "DEF")
    >>> lib.define("scale(Tensor x, float by=2.) -> Tensor")
    'scale'
    >>> lib.impl("scale", lambda x, by: x * by, "CPU")
    >>> ad.ops.docs_lib.scale(ad.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: " + str(kind))
        if ns == "prim":
            raise ValueError(ns + " is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in _defining:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your definitions in a "
                    "single TORCH_LIBRARY block.\n  fix: Library(ns, 'FRAGMENT') adds to one that is there"
                )
            _defining.add(ns)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._op_defs: set[str] = set()

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Sequence[Any] = ()) -> str:
        """Define an operator, `scale(Tensor x) -> Tensor`; the answer is its name. Nothing is optimized, so `alias_analysis`, which says
        what may be assumed for that, only has to be one that there is."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.ns == "aten":
            raise ValueError("the operations of aten are adjoint's own: define yours in another namespace")
        parsed = parse_schema(f"{self.ns}::{schema.strip()}")
        operator = define_operator(parsed)
        operator.tags = listed(tags)
        self._op_defs.add(operator.name())
        return schema.strip().partition("(")[0].strip()

    def impl(self, op_name: Any, fn: Kernel, dispatch_key: str = "", *, with_keyset: bool = False, allow_override: bool = False) -> None:
        """Give an operator an implementation for a dispatch key: CPU, Meta, CompositeImplicitAutograd, ... A later one takes the place of
        an earlier one."""
        if with_keyset:
            raise NotImplementedError("there are no sets of dispatch keys to pass on: write a function without one, and with_keyset=False")
        key = dispatch_key or self.dispatch_key
        if self.ns == "aten" or getattr(op_name, "namespace", "") == "aten":
            raise NotImplementedError(
                spelled(
                    f"{op_name}: adjoint's own operations cannot be replaced\n  fix: a torch.utils._python_dispatch.TorchDispatchMode sees "
                    "them as they run"
                )
            )
        if isinstance(op_name, str):
            op_name = op_name if "::" in op_name else f"{self.ns}::{op_name}"
            op_name = op_name.removesuffix(".default")
        operator = operator_of(op_name)
        if fn is not fallthrough_kernel:
            operator.kernels[DEVICES.get(key, key)] = fn

    def _register_fake(self, op_name: str, fn: Kernel, _stacklevel: int = 1, *, allow_override: bool = False) -> None:
        register_fake(f"{self.ns}::{op_name}", fn)

    def fallback(self, fn: Kernel, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        raise NotImplementedError("adjoint has no fallback for all operators; torch.utils._python_dispatch.TorchDispatchMode sees them all")

    def _destroy(self) -> None:
        """Forget what was defined."""
        for name in self._op_defs:
            remove_operator(name)
        self._op_defs.clear()
        if self.kind == "DEF":
            _defining.discard(self.ns)


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()

