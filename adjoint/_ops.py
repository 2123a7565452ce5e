"""Operators by name, as `torch.ops.NAMESPACE.NAME.OVERLOAD`: those that a program defines, and adjoint's own under `aten`.

An operator of a program has a signature, kernels by the device of its tensors, and perhaps a derivative and a rule for batches. Where
one of these is needed, the call goes through an `autograd.Function` that is made of them, so that gradients, transforms and checks of
gradients treat it as they treat every custom function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import numpy as np

from ._errors import spelled
from ._layer import Layer
from ._schema import FunctionSchema
from ._site import warn
from ._state import AUTOCAST, DISPATCH_MODE, GRAD, get_mode, swap_bits
from ._tensor import Tensor
from .autograd.regions import same_memory
from .ops._registry import FUNCTIONS

__all__ = ["OPERATORS", "OpOverload", "OpOverloadPacket", "Tag", "load_library", "namespace"]

Kernel = Callable[..., Any]


class Tag(Enum):
    """What is known about an operator. Only compilers of graphs ask."""

    core = auto()
    cudagraph_unsafe = auto()
    data_dependent_output = auto()
    dynamic_output_shape = auto()
    flexible_layout = auto()
    generated = auto()
    inplace_view = auto()
    maybe_aliasing_or_mutating = auto()
    needs_contiguous_strides = auto()
    needs_exact_strides = auto()
    needs_fixed_stride_order = auto()
    nondeterministic_bitwise = auto()
    nondeterministic_seeded = auto()
    pointwise = auto()
    pt2_compliant_tag = auto()
    view_copy = auto()


Tag.__signature__ = Signature([Parameter("value", Parameter.POSITIONAL_ONLY)])  # type: ignore[attr-defined]


class OpOverload:
    """One operator: `torch.ops.mine.scale.default`. It is called like a function."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = packet
        self._overloadname = overload or "default"
        self.namespace = packet.namespace
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__qualname__ = str(self)
        self.__module__ = f"torch.ops.{self.namespace}"
        self.tags: list[Tag] = []

    def name(self) -> str:
        tail = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.overloadpacket._qualified_op_name}{tail}"

    @property
    def _name(self) -> str:
        return self.name()

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self.overloadpacket.__name__}', overload='{self._overloadname}')>"

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return overload_named, (self.namespace, self.overloadpacket.__name__, self._overloadname)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    @property
    def op(self) -> Any:
        return self.overloadpacket


class OpOverloadPacket:
    """`torch.ops.mine.scale`: all overloads of an operator. A call is for the first one whose signature it fits."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.__name__ = name
        self.__module__ = f"torch.ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"
        self._overloads: dict[str, OpOverload] = {}

    def overloads(self) -> list[str]:
        return list(self._overloads)

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__") or overload not in self._overloads:
            known = ", ".join(self._overloads)
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'; it has {known}")
        return self._overloads[overload]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        overloads = list(self._overloads.values())
        for overload in overloads[:-1]:
            try:
                overload._schema.bind(args, kwargs)  # type: ignore[attr-defined]
            except RuntimeError:
                continue
            return overload(*args, **kwargs)
        return overloads[-1](*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverloadPacket) and other._qualified_op_name == self._qualified_op_name

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __reduce__(self) -> tuple[Any, ...]:
        return packet_named, (self.namespace, self.__name__)


# ---- operators of a program ---------------------------------------------------------------------------------------------------------

OPERATORS: dict[str, Operator] = {}  # by their names, "mine::scale" or "mine::scale.overload"


class Operator(OpOverload):
    """An operator that a program defines. Nobody writes `Operator(...)`: see `torch.library`."""

    def __init__(self, packet: OpOverloadPacket, schema: FunctionSchema) -> None:
        super().__init__(packet, schema.overload_name)
        self._schema = schema
        self.kernels: dict[str, Kernel] = {}  # by device, "default" for all; "autograd" and "composite", which record
        self.disabled: set[str] = set()  # devices whose kernel is not to be used now
        self.own_graph = True  # without a derivative, what the kernel computes with is recorded
        self.backward: Kernel | None = None
        self.setup_context: Kernel | None = None
        self.batching: Kernel | None = None
        self.dispatches: dict[type, Kernel] = {}  # by the class of a tensor or mode that sees ops
        self.autocast: Any = None  # the dtype that floating-point tensors get under autocast
        self._function: Any = None

    @property
    def _is_mutable(self) -> bool:
        return self._schema.is_mutable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(self._schema.bind(args, kwargs))

    def run(self, values: list[Any]) -> Any:
        mode = get_mode()
        if mode & DISPATCH_MODE:
            from ._watching import seen_by_mode

            answer = seen_by_mode(self, *self._schema.split(values))
            if answer is not NotImplemented:
                return answer
        tensors = list(tensors_in(values))
        if mode & AUTOCAST and self.autocast is not None:
            values = [self._cast(value) for value in values]
        if "composite" in self.kernels:
            return self._called(self.kernels["composite"], values)
        needs_grad = mode & GRAD and any(x.requires_grad for x in tensors)
        if needs_grad and "autograd" in self.kernels:
            return self._called(self.kernels["autograd"], values)
        if not self._schema.is_mutable and (in_transform(tensors) or (needs_grad and (self.backward is not None or not self.own_graph))):
            return self._through_function(values)
        return self.compute(values)

    def _cast(self, value: Any) -> Any:
        if isinstance(value, Tensor) and value.is_floating_point() and value.dtype.itemsize < 8:
            return value.to(self.autocast)
        return [self._cast(item) for item in value] if isinstance(value, list) else value

    def _called(self, kernel: Kernel, values: Sequence[Any]) -> Any:
        args, kwargs = self._schema.split(values)
        return kernel(*args, **kwargs)

    def compute(self, values: Sequence[Any]) -> Any:
        """The kernel for the device of the tensors, and checks of what it returns."""
        tensors = list(tensors_in(values))
        if any(hasattr(x, "__torch_dispatch__") for x in tensors):
            from ._class_dispatch import answer

            if (found := answer(self.name(), self, *self._schema.split(values))) is not NotImplemented:
                return found
        place = next((x.device.type for x in tensors if x.ndim or len(tensors) == 1), "cpu")
        kernel = None if place in self.disabled else self.kernels.get(place)
        if kernel is None and (place != "meta" or self.own_graph):
            kernel = self.kernels.get("default")
        if kernel is None:
            self._refuse_device(place)
        bits = swap_bits(GRAD, 0) if not self.own_graph else get_mode() & GRAD
        versions = [(x, x._version) for x in self._mutated(values)]
        try:
            result = self._called(kernel, values)  # type: ignore[arg-type]
        finally:
            swap_bits(GRAD, bits)
        for x, version in versions:
            if x._version == version:  # it was written through its array
                x._written()
        return self._checked(result, tensors)

    def _mutated(self, values: Sequence[Any]) -> Iterator[Tensor]:
        for argument, value in zip(self._schema.arguments, values, strict=True):
            if argument.type.writes:
                yield from tensors_in([value])

    def _refuse_device(self, place: str) -> None:
        if place == "meta" and not self.own_graph:
            raise RuntimeError(
                spelled(
                    f"There was no fake impl registered for <CustomOpDef({self.name()})>. It says what the result for tensors without "
                    "elements looks like\n"
                    f"  fix: @{self.overloadpacket.__name__}.register_fake above a function that returns torch.empty_like(...)"
                )
            )
        known = ", ".join(self.kernels) or "none"
        raise NotImplementedError(
            spelled(
                f"Could not run '{self.name()}' with arguments from the '{place.upper() if place == 'cpu' else place.title()}' backend. "
                f"Kernels are there for: {known}\n  fix: @torch.library.register_kernel('{self.name()}', '{place}') above a function"
            )
        )

    def _checked(self, result: Any, tensors: Sequence[Tensor]) -> Any:
        returns = self._schema.returns
        if not returns:
            return None
        results = (result,) if len(returns) == 1 else tuple(result) if isinstance(result, list | tuple) else result
        if not isinstance(results, tuple) or len(results) != len(returns):
            raise RuntimeError(f"{self.name()}: the kernel returned {type(result).__name__}, but there are {len(returns)} results")
        made: list[Tensor] = []
        for value, declared in zip(results, returns, strict=True):
            if declared.type.base == "Tensor" and not declared.type.alias:
                for x in value if declared.type.is_list else (value,):
                    if not isinstance(x, Tensor) and not (x is None and declared.type.optional):
                        raise RuntimeError(f"Unable to cast {x} to Tensor: the kernel of {self.name()} returns {type(x).__name__}")
                    if x is not None and not self.own_graph:
                        self._refuse_alias(x, [*tensors, *made])
                        made.append(x)
        return results if len(returns) > 1 else results[0]

    def _refuse_alias(self, x: Tensor, others: Sequence[Tensor]) -> None:
        if any(x is other or (x._data.__class__ is other._data.__class__ and shares(x, other)) for other in others):
            raise RuntimeError(
                f"{self.name()}: The output of this custom operator (1) must not also be an input to this custom operator and (2) may not "
                "alias any inputs to this custom operator or other returns.\n  fix: return x.clone()"
            )

    # ---- derivatives and batches ------------------------------------------------------------------------------------------------

    def _through_function(self, values: list[Any]) -> Any:
        flat, places = spread(values)
        if self._function is None:
            from ._operator_function import function_of

            self._function = function_of(self)
        return self._function.call(places, flat)

    def forget(self) -> None:
        """After something has been registered: the function is made anew when it is next needed."""
        self._function = None


def shares(x: Tensor, other: Tensor) -> bool:
    return x._data.__class__ is np.ndarray and same_memory(x._data, other._data)


def tensors_in(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif value.__class__ is list:
            yield from (item for item in value if isinstance(item, Tensor))


def spread(values: Sequence[Any]) -> tuple[list[Any], tuple[int | None, ...]]:
    """Values with the elements of lists of tensors as values of their own, and how many each list has."""
    flat: list[Any] = []
    places: list[int | None] = []
    for value in values:
        if value.__class__ is list and any(isinstance(item, Tensor) for item in value):
            flat += value
            places.append(len(value))
        else:
            flat.append(value)
            places.append(None)
    return flat, tuple(places)


def gathered(flat: Sequence[Any], places: Sequence[int | None]) -> list[Any]:
    """The reverse of `spread`."""
    values: list[Any] = []
    start = 0
    for count in places:
        values.append(flat[start] if count is None else list(flat[start : start + count]))
        start += 1 if count is None else count
    return values


def in_transform(tensors: Sequence[Tensor]) -> bool:
    return any(isinstance(x._data, Layer) for x in tensors)


def operator_of(op: Any) -> Operator:
    """The operator that a name, a definition or an overload means."""
    if isinstance(op, Operator):
        return op
    if isinstance(op, OpOverloadPacket):
        op = op._qualified_op_name
    name = op if isinstance(op, str) else getattr(op, "_qualname", None)
    if name is None:
        raise ValueError(f"Expected the name of an operator, 'mine::scale', or an operator of custom_op, not {type(op).__name__}")
    if name not in OPERATORS:
        raise RuntimeError(spelled(
            f"Could not find an operator {name}\n  fix: torch.library.define('{name}', '(Tensor x) -> Tensor') comes first"
        ))
    return OPERATORS[name]


def define_operator(schema: FunctionSchema) -> Operator:
    """Enter an operator under its name."""
    full = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    if full in OPERATORS:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each overload's schema should "
            "only be registered with a single call to def()."
        )
    space, name = schema.name.split("::")
    home = namespace(space)
    packet = home.packets.setdefault(name, OpOverloadPacket(space, name))
    OPERATORS[full] = made = Operator(packet, schema)
    packet._overloads[made._overloadname] = made
    return made


def remove_operator(name: str) -> None:
    made = OPERATORS.pop(name, None)
    if made is not None:
        packet = made.overloadpacket
        packet._overloads.pop(made._overloadname, None)
        if not packet._overloads:
            namespace(made.namespace).packets.pop(packet.__name__, None)


# ---- namespaces ---------------------------------------------------------------------------------------------------------------------


class _OpNamespace:
    """`torch.ops.mine`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.packets: dict[str, OpOverloadPacket] = {}

    def __getattr__(self, name: str) -> Any:
        if name in self.packets:
            return self.packets[name]
        raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return sorted(self.packets)

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"


class OwnOp(OpOverload):
    """One of adjoint's own operations, as a dispatch mode gets it. It is equal to every overload of PyTorch's operation of its name."""

    def __init__(self, name: str, function: Callable[..., Any] | None = None, declaration: Any = None, overload: str = "default") -> None:
        super().__init__(getattr(aten, name), overload)
        self._function = function
        self.declaration = declaration

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self._function or function_named(self.overloadpacket.__name__))(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnOp) and other.overloadpacket == self.overloadpacket

    def __hash__(self) -> int:
        return hash(self.overloadpacket)


def own_op(name: str, function: Callable[..., Any], declaration: Any = None) -> OwnOp:
    """One of adjoint's own operations: `torch.ops.aten.NAME.default` itself if that would do the same."""
    if function in (FUNCTIONS.get(name), getattr(Tensor, name, None)) and function_named(name) is function:
        found: OwnOp = getattr(aten, name).default
        found.declaration = declaration
        return found
    return OwnOp(name, function, declaration)


class OwnPacket(OpOverloadPacket):
    """All overloads of one of adjoint's own operations. Here there is one, whatever its name."""

    def __init__(self, name: str) -> None:
        super().__init__("aten", name)

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__"):
            raise AttributeError(overload)
        if overload not in self._overloads:
            self._overloads[overload] = OwnOp(self.__name__, overload=overload)
        return self._overloads[overload]

    def overloads(self) -> list[str]:
        return ["default"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return function_named(self.__name__)(*args, **kwargs)


class _OwnNamespace(_OpNamespace):
    """`torch.ops.aten`: any name is an operation, since policies name many that never run."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.packets.get(name) or self.packets.setdefault(name, OwnPacket(name))


def function_named(name: str) -> Any:
    """What runs under a name: an op, a function that has its name here only, or one that `torch` itself has."""
    if callable(found := FUNCTIONS.get(name)):
        return found
    for home in ("adjoint._aten_names", "adjoint", Tensor, "adjoint.nn.functional"):  # `unfold` is the method; the function is im2col
        if callable(found := getattr(import_module(home) if isinstance(home, str) else home, name, None)):
            return found
    raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}' that can be called")


aten = _OwnNamespace("aten")
NAMESPACES: dict[str, _OpNamespace] = {"aten": aten}


def namespace(name: str) -> _OpNamespace:
    return NAMESPACES.setdefault(name, _OpNamespace(name))


def packet_named(space: str, name: str) -> Any:
    return getattr(namespace(space), name)


def overload_named(space: str, name: str, overload: str) -> Any:
    return getattr(packet_named(space, name), overload)


# Folders and the libraries in them, and the module that has their operators in Python.
STAND_INS = {("torchvision", "_C"): "_vision", ("lib", "_torchaudio"): "_audio", ("lib", "libtorchaudio"): "_audio"}


def load_library(path: Any) -> None:
    """Operators compiled for PyTorch need PyTorch itself; those of some packages are here in Python, and registered instead. Of others,
    an OSError says so, which is what packages expect if theirs does not load."""
    file = Path(path)
    stand_in = STAND_INS.get((file.parent.name, file.name.partition(".")[0]))
    if stand_in is not None:
        return import_module(f".{stand_in}", __package__).register()  # type: ignore[no-any-return]
    raise OSError(
        f"Could not load this library: {path}\nIt was compiled against PyTorch's C++ library, which adjoint has nothing of; operators in "
        "Python are registered with torch.library.custom_op"
    )


def fallback_batch(operator: Operator, info: Any, in_dims: Sequence[Any], values: list[Any]) -> tuple[Any, Any]:
    """One example after the other, for an operator without a rule for batches."""
    from .ops.join import stack

    warn(
        f"There is a performance drop because we have not yet implemented the batching rule for {operator.name()}: it is run on one "
        "example after the other. torch.library.register_vmap registers a rule."
    )

    def example(value: Any, dim: Any, place: int) -> Any:
        if isinstance(value, list) and isinstance(dim, list | tuple):
            return [example(item, of, place) for item, of in zip(value, dim, strict=True)]
        return value if dim is None else value.select(dim, place)

    rows = [
        operator.run([example(value, dim, place) for value, dim in zip(values, in_dims, strict=True)]) for place in range(info.batch_size)
    ]
    if isinstance(rows[0], Tensor):
        return stack(rows), 0
    return tuple(stack(column) for column in zip(*rows, strict=True)), tuple(0 for _ in rows[0])

