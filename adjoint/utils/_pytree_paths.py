"""The rest of PyTorch's `torch.utils._pytree`: where in a tree a leaf is, shapes of trees as texts, and classes as containers."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import Any, NamedTuple, Protocol, runtime_checkable

from . import _pytree as tree
from ._pytree import NodeDef, PyTree, TreeSpec


class SequenceKey(NamedTuple):
    """A position in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """A key of a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """An attribute of an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


@runtime_checkable
class KeyEntry(Protocol):
    """A step of a path. Keys of other classes are welcome, if they have what is here."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object) -> bool: ...

    def get(self, parent: Any) -> Any: ...


KeyPath = tuple[Any, ...]

# What PyTorch calls the functions that `register_pytree_node` takes.
Context = DumpableContext = Any
FlattenFunc = FlattenFn = Callable[[Any], tuple[list[Any], Any]]
UnflattenFunc = UnflattenFn = Callable[[Any, Any], Any]
FlattenWithKeysFunc = FlattenWithKeysFn = Callable[[Any], tuple[list[tuple[Any, Any]], Any]]
ToDumpableContextFn = FromDumpableContextFn = Callable[[Any], Any]
ToStrFunc = MaybeFromStrFunc = MapOnlyFn = Callable[..., Any]


def keystr(kp: KeyPath) -> str:
    """A path as one would write it."""
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What stands at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _with_keys(node: Any, container: NodeDef) -> tuple[list[Any], Any]:
    """The children of a container with their keys, and its context."""
    if container.flatten_with_keys_fn is not None:
        return container.flatten_with_keys_fn(node)
    children, context = container.flatten_fn(node)
    keys: Any
    if isinstance(node, dict):
        keys = map(MappingKey, node)
    elif tree.is_namedtuple_instance(node):
        keys = map(GetAttrKey, node._fields)
    elif isinstance(node, list | tuple | deque):
        keys = map(SequenceKey, range(len(children)))
    else:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {type(node)}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    return list(zip(keys, children, strict=True)), context


def tree_flatten_with_path(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves with their paths, and what is needed to build the tree again."""
    return list(_walked((), tree, is_leaf)), _structure(tree, is_leaf)


def _structure(node: PyTree, is_leaf: Any) -> TreeSpec:
    return tree.tree_structure(node, is_leaf)


def _walked(path: KeyPath, node: Any, is_leaf: Any) -> Any:
    container = tree.container_of(node)
    if container is None or (is_leaf is not None and is_leaf(node)):
        yield path, node
        return
    for key, child in _with_keys(node, container)[0]:
        yield from _walked((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[KeyPath, Any]]:
    return list(_walked((), tree, is_leaf))


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """`tree_map` with a function of the path too, which comes first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    return spec.unflatten(map(func, paths, leaves, *map(spec.flatten_up_to, rests)))


# ---- shapes as texts ----------------------------------------------------------------------------------------------------------------

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
_NAMES: dict[Any, str] = {
    list: "builtins.list", tuple: "builtins.tuple", dict: "builtins.dict", OrderedDict: "collections.OrderedDict",
    defaultdict: "collections.defaultdict", deque: "collections.deque", namedtuple: "collections.namedtuple",
}  # fmt: skip


class EnumEncoder(json.JSONEncoder):
    """Members of enumerations by their names."""

    def default(self, obj: Any) -> Any:
        if isinstance(obj, Enum):
            return {"__enum__": True, "fqn": f"{type(obj).__module__}:{type(obj).__qualname__}", "name": obj.name}
        return super().default(obj)


def enum_object_hook(obj: dict[str, Any]) -> Any:
    """What `EnumEncoder` has written, read."""
    if not obj.get("__enum__"):
        return obj
    module, _, path = obj["fqn"].partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found[obj["name"]]


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """The shape of a tree as JSON."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    _check_protocol(1 if protocol is None else protocol)
    return json.dumps([1, _dumped(treespec)])


def _check_protocol(protocol: Any) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]")


def _dumped(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    known = tree.SUPPORTED_NODES.get(spec.type)
    name, context = _NAMES.get(spec.type) or (known.name if known else None), spec.context
    if spec.type is namedtuple:
        context = _NAMED_TUPLES.get(context, f"{context.__module__}.{context.__qualname__}")
    elif spec.type is defaultdict:
        context = [f"{context[0].__module__}.{context[0].__qualname__}", context[1]]
    if name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please register it with a serialized_type_name, by "
            "register_pytree_node"
        )
    written = known.to_dumpable(context) if known and known.to_dumpable else context
    try:
        text = json.dumps(written, cls=EnumEncoder)
    except TypeError as error:
        raise TypeError(
            "Unable to serialize context. Please make the context json dump-able, or register a custom serializer using "
            "register_pytree_node."
        ) from error
    return {"type": name, "context": text, "children_spec": [_dumped(child) for child in spec.children_specs]}


def treespec_loads(serialized: str) -> TreeSpec:
    """The shape that `treespec_dumps` has written."""
    protocol, content = json.loads(serialized)
    _check_protocol(protocol)
    return _loaded(content)


def _named(full: str) -> Any:
    module, _, name = full.rpartition(".")
    return getattr(import_module(module), name)


def _loaded(content: dict[str, Any]) -> TreeSpec:
    if content["type"] is None:
        return tree.treespec_leaf()
    names = {name: kind for kind, name in _NAMES.items()}
    names |= {known.name: kind for kind, known in tree.SUPPORTED_NODES.items() if known.name}
    context = json.loads(content["context"], object_hook=enum_object_hook)
    if content["type"] not in names:
        raise NotImplementedError(f"Deserializing {content['type']} in pytree is not registered.")
    kind = names[content["type"]]
    known = tree.SUPPORTED_NODES.get(kind)
    if kind is namedtuple:
        context = next((cls for cls, name in _NAMED_TUPLES.items() if name == context), None) or _named(context)
    elif kind is defaultdict:
        context = [_named(context[0]), context[1]]
    elif known and known.from_dumpable:
        context = known.from_dumpable(context)
    return TreeSpec(kind, context, [_loaded(child) for child in content["children_spec"]])


class _Star:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A shape with stars for leaves."""
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))


def treespec_tuple(iterable: Any = ()) -> TreeSpec:
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: Any) -> TreeSpec:
    given = dict(mapping, **kwargs)
    return TreeSpec(dict, list(given), list(given.values()))


# ---- classes as containers ----------------------------------------------------------------------------------------------------------


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None, serialized_type_name: str | None = None
) -> None:
    """Make the objects of a dataclass containers of their fields."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"register_dataclass() requires a dataclass, but got {cls}")
    dropped = set(drop_field_names or ())
    names = field_names or [field.name for field in dataclasses.fields(cls) if field.init and field.name not in dropped]

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        present = [name for name in names if getattr(obj, name) is not None]
        return [getattr(obj, name) for name in present], [present, [name for name in names if name not in present]]

    def with_keys(obj: Any) -> tuple[list[Any], Any]:
        values, context = flatten(obj)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values, strict=True)], context

    def unflatten(values: Any, context: Any) -> Any:
        return cls(**dict(zip(context[0], values, strict=True)), **dict.fromkeys(context[1]))

    tree.register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=with_keys)


def register_constant(cls: type) -> None:
    """Make the objects of a class containers of nothing: they belong to the shape of a tree."""
    if vars(object)["__eq__"] is cls.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if getattr(cls, "__hash__", None) is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    tree.register_pytree_node(
        cls, lambda obj: ([], ConstantNode(obj)), lambda _, node: node.value, flatten_with_keys_fn=lambda obj: ([], ConstantNode(obj))
    )
    CONSTANT_NODES.add(cls)


CONSTANT_NODES: set[type] = set()


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The constant that a shape holds."""

    value: Any


def is_constant_class(cls: Any) -> bool:
    """Whether `register_constant` has been told of a class."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _is_constant_holder(spec: TreeSpec) -> bool:
    return isinstance(spec.context, ConstantNode)


def _retrieve_constant(spec: TreeSpec) -> Any:
    if not _is_constant_holder(spec):
        raise AssertionError("spec does not correspond to a registered constant pytree")
    return spec.context.value


_NAMED_TUPLES: dict[type, str] = {}  # what files call them, where that is not what they are


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Give a class of named tuples another name in files."""
    _NAMED_TUPLES[cls] = serialized_type_name


def _deregister_pytree_node(cls: type) -> None:
    """Objects of a class are leaves again."""
    del tree.SUPPORTED_NODES[cls]


_register_pytree_node = _private_register_pytree_node = tree.register_pytree_node
_is_leaf, _is_namedtuple_instance = tree.tree_is_leaf, tree.is_namedtuple_instance
_generate_key_paths = _walked
pytree_to_str, str_to_pytree = treespec_dumps, treespec_loads


# ---- the containers of Python, taken apart one at a time ----------------------------------------------------------------------------

_HELPERS = {"list": list, "tuple": tuple, "namedtuple": namedtuple, "dict": dict, "ordereddict": OrderedDict, "odict": OrderedDict,
            "defaultdict": defaultdict, "deque": deque}  # fmt: skip


def __getattr__(name: str) -> Any:
    """`_dict_flatten`, `_dict_unflatten`, `_dict_flatten_with_keys` and so on, by which derived classes are registered."""
    kind, _, action = name.removeprefix("_").partition("_")
    known = tree.SUPPORTED_NODES.get(_HELPERS.get(kind))
    if known is not None and name.startswith("_"):
        if action == "flatten_with_keys":
            return lambda node: _with_keys(node, known)
        if action in ("flatten", "unflatten"):
            return getattr(known, f"{action}_fn")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
