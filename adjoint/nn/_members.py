"""The tables of a module: its parameters, buffers and children by name."""

from __future__ import annotations

from typing import Any

TABLES = ("_parameters", "_buffers", "_modules")


class Members(dict[str, Any]):
    """A table whose entries are also attributes of the module.

    Python finds an entry of an instance's `__dict__` in 0.04 µs, and one that `__getattr__` has to look for in 0.5. So what is in the
    table is in the `__dict__` too, and whoever changes the table (PyTorch programs do) changes both.
    """

    __slots__ = ("attributes",)
    stands_for = dict  # for functions of trees

    attributes: dict[str, Any]  # the module's __dict__

    def __new__(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[misc]
        return dict(*args, **kwargs)  # a program that writes type(module._parameters)(...) means PyTorch's dictionary

    @classmethod
    def of(cls, attributes: dict[str, Any]) -> Members:
        """The empty table of a module, by its `__dict__`."""
        table = dict.__new__(cls)
        table.attributes = attributes
        return table

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.attributes[name] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self.attributes.pop(name, None)

    def pop(self, name: str, *default: Any) -> Any:
        if name in self:
            self.attributes.pop(name, None)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        name, value = super().popitem()
        self.attributes.pop(name, None)
        return name, value

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def clear(self) -> None:
        for name in self:
            self.attributes.pop(name, None)
        super().clear()

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def __ior__(self, other: Any) -> Members:  # type: ignore[misc,override]
        self.update(other)
        return self

    def copy(self) -> dict[str, Any]:
        return dict(self)

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        # A plain dictionary: the module makes tables of its own from it (Module.__setstate__).
        return dict, (dict(self),)
