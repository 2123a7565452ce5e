"""Modules that hold modules, and modules that hold parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping
from itertools import chain, groupby
from typing import Any, Self, SupportsIndex, overload

from .._site import warn
from .._tensor import Parameter, Tensor
from ._conversion import typename
from .module import Module, indented


def _position(index: SupportsIndex, length: int) -> int:
    """An index counted from the front."""
    place = operator.index(index)
    if not -length <= place < length:
        raise IndexError(f"index {place} is out of range")
    return place % length


def _require_module(module: Any) -> Any:
    if not isinstance(module, Module) and module is not None:
        raise TypeError(f"{typename(module)} is not a Module subclass")
    return module


def _require_iterable(values: object, what: str) -> None:
    if not isinstance(values, Iterable) or isinstance(values, Tensor):
        raise TypeError(f"{what}.extend should be called with an iterable, but got {type(values).__name__}")


def _pairs(values: Any, what: str) -> list[tuple[Any, Any]]:
    """Key-value pairs from a mapping or an iterable of pairs."""
    if isinstance(values, Mapping | ModuleDict | ParameterDict):
        return list(values.items())
    if not isinstance(values, Iterable):
        raise TypeError(f"{what}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}")
    pairs = []
    for place, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{what} update sequence element #{place} should be Iterable; is {type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{what} update sequence element #{place} has length {len(pair)}; 2 is required")
        pairs.append(pair)
    return pairs


class _ModuleSequence(Module):
    """What Sequential and ModuleList have in common: children numbered from 0."""

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: SupportsIndex) -> Module: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        return list(self._modules.values())[_position(index, len(self))]

    def _slice(self, index: slice) -> Any:
        raise NotImplementedError

    def __setitem__(self, index: SupportsIndex, module: Module) -> None:
        setattr(self, list(self._modules)[_position(index, len(self))], module)

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[_position(index, len(self))]]:
            del self._modules[name]
        self._renumber(self._modules.values())

    def _renumber(self, modules: Iterable[Module]) -> None:
        numbered = {str(place): module for place, module in enumerate(modules)}
        self._modules.clear()
        self._modules.update(numbered)

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), _require_module(module))
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add several modules at the end."""
        _require_iterable(modules, type(self).__name__)
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: Any) -> Any:
        """Remove a module and return it."""
        removed = self[key]
        del self[key]
        return removed

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


class Container(Module):
    """Old: any `Module` can hold modules."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warn("`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead.",
             FutureWarning)  # fmt: skip
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(_ModuleSequence):
    """Modules called one after another, each with the result of the one before.

    >>> import adjoint as ad
    >>> ad.nn.Sequential(ad.nn.Flatten(), ad.nn.ReLU())
    Sequential(
      (0): Flatten(start_dim=1, end_dim=-1)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], dict) and type(args[0]) is not dict  # an OrderedDict
        for name, module in args[0].items() if named else ((str(i), m) for i, m in enumerate(args)):
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _slice(self, index: slice) -> Sequential:
        from collections import OrderedDict

        return type(self)(OrderedDict(list(self._modules.items())[index]))

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        place = index if index >= 0 else index + len(self)
        moved = list(self._modules.items())[place:]
        for name, _ in moved:
            del self._modules[name]
        for one in (module, *(one for _, one in moved)):
            self._modules[str(len(self._modules))] = one
        return self

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self, *_require_sequential(other))

    def __iadd__(self, other: Any) -> Self:
        return self.extend(_require_sequential(other))

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*chain.from_iterable([list(self)] * _factor(self, times)))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        modules = list(self)
        for _ in range(_factor(self, times) - 1):
            self.extend(modules)
        return self


def _require_sequential(other: object) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
    return other


def _factor(sequence: Sequential, times: object) -> int:
    if not isinstance(times, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(sequence)} and {type(times)}")
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for {type(sequence)}")
    return times


class ModuleList(_ModuleSequence):
    """A list of modules that the surrounding module knows about.

    >>> import adjoint as ad
    >>> ad.nn.ModuleList([ad.nn.Linear(2, 2) for _ in range(3)])
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _slice(self, index: slice) -> ModuleList:
        return type(self)(list(self)[index])

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at `index`."""
        modules = list(self)
        modules.insert(index, _require_module(module))
        self._renumber(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        if not len(self):
            return f"{self._get_name()}()"
        lines = []
        start = 0
        for text, same in groupby(map(repr, self)):
            count = len(list(same))
            label = f"({start}): " if count == 1 else f"({start}-{start + count - 1}): {count} x "
            lines.append(indented(label + text))
            start += count
        body = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {body}\n)"


class ModuleDict(Module):
    """A dictionary of modules that the surrounding module knows about; keys are strings.

    >>> import adjoint as ad
    >>> ad.nn.ModuleDict({"act": ad.nn.ReLU()})["act"]
    ReLU()
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove a module and return it."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        return self._modules.keys()

    def items(self) -> Any:
        return self._modules.items()

    def values(self) -> Any:
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of an iterable of pairs."""
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


# ---- parameters ---------------------------------------------------------------------------------------------------------------------


def _as_parameter(value: Any) -> Any:
    """Tensors become parameters; other values are kept as they are."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(entries: Iterable[tuple[Any, Any]], type_of: Callable[[Tensor], str]) -> str:
    lines = []
    for key, value in entries:
        if isinstance(value, Tensor):
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            size = "x".join(map(str, value.shape))
            lines.append(f"  ({key}): {kind} containing: [{type_of(value)} of size {size}]")
        else:
            lines.append(f"  ({key}): Object of type: {type(value).__name__}")
    return "\n".join(lines)


class ParameterList(Module):
    """A list of parameters that the surrounding module knows about. Tensors become parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[place] for place in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[place] for place in range(*index.indices(len(self)))])
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index: SupportsIndex, value: Any) -> None:
        setattr(self, str(_position(index, len(self))), _as_parameter(value))

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several values at the end."""
        _require_iterable(values, "ParameterList")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        return _described(enumerate(self), lambda value: str(value.dtype))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters that the surrounding module knows about. Tensors become parameters; keys are strings."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        name = _attribute(key)
        value = _as_parameter(value)
        if key not in self._keys:
            if hasattr(self, name):
                raise KeyError(f"attribute '{name}' already exists")
            if isinstance(value, Parameter):
                self.register_parameter(name, value)
        setattr(self, name, value)
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        delattr(self, _attribute(key))
        del self._keys[key]

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new dictionary of the same parameters."""
        return ParameterDict(list(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is set first where it is missing."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a key and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last key and return it with its value."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with these keys, all with the same value."""
        return ParameterDict([(key, default) for key in keys])

    def keys(self) -> KeysView[str]:
        return self._keys.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterator[Any]:
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add the values of a mapping (a plain dict in the order of its sorted keys, as PyTorch does), or of an iterable of pairs."""
        pairs = _pairs(parameters, "ParameterDict")
        for key, value in sorted(pairs, key=lambda pair: pair[0]) if type(parameters) is dict else pairs:
            self[key] = value

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return _described(self.items(), typename)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")


def _attribute(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}').")
    return key
