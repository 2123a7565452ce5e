"""The lists and dictionaries in a node's arguments. They cannot be changed: a node would not know of its new inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Self

from ..utils._pytree import register_pytree_node


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args of a "
        "torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
        "    new_args = ...  # copy and mutate args\n    node.args = new_args"
    )


def _frozen(*names: str) -> Callable[[type], Any]:
    """A class whose methods of these names refuse."""

    def decorate(cls: type) -> type:
        for name in names:
            setattr(cls, name, _refuse)
        return cls

    return decorate


@_frozen("__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort")
class immutable_list(list[Any]):
    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[Self], tuple[list[Any]]]:
        return type(self), (list(self),)


@_frozen("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update")
class immutable_dict(dict[Any, Any]):
    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[Self], tuple[dict[Any, Any]]]:
        return type(self), (dict(self),)


def _items(d: dict[Any, Any]) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


def _dict_of(values: Iterable[Any], keys: Any) -> immutable_dict:
    return immutable_dict(zip(keys, values, strict=True))


register_pytree_node(immutable_list, lambda items: (list(items), None), lambda items, _: immutable_list(items))
register_pytree_node(immutable_dict, _items, _dict_of)
