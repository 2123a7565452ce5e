"""Nested containers as flat lists of leaves, and back: lists, tuples, named tuples, dicts, what is registered. Anything else is a leaf."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .._size import Size

PyTree = Any
Context = Any


class NodeDef(NamedTuple):
    """How to take a container apart, `(children, context)`, and to put it together again."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[list[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[Any], Any]] | None = None  # the children with their keys
    name: str | None = None  # in files
    to_dumpable: Callable[[Any], Any] | None = None
    from_dumpable: Callable[[Any], Any] | None = None


class TreeSpec:
    """The shape of a tree: the kind of its container, what that needs besides its children, and their specs. A leaf has no kind."""

    __slots__ = ("children_specs", "context", "num_leaves", "type")

    def __init__(self, type: Any, context: Any, children_specs: Sequence[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = list(children_specs)
        self.num_leaves: int = 1 if type is None else sum(spec.num_leaves for spec in children_specs)

    @property
    def num_children(self) -> int:
        return len(self.children_specs)

    @property
    def num_nodes(self) -> int:
        return 1 + sum(spec.num_nodes for spec in self.children_specs)

    def child(self, index: int) -> TreeSpec:
        return self.children_specs[index]

    def flatten_up_to(self, tree: PyTree) -> list[Any]:
        """The branches of a tree that stand where this spec has leaves."""
        found: list[Any] = []
        self._flatten_up_to(tree, found)
        return found

    def _flatten_up_to(self, tree: PyTree, found: list[Any]) -> None:
        if self.type is None:
            found.append(tree)
            return
        mapping = self.type in (dict, OrderedDict, defaultdict)
        container = container_of(tree)
        kind = type(tree) if container is None else container.type
        if kind is not self.type and not (mapping and kind in (dict, OrderedDict, defaultdict)):
            raise ValueError(f"Node type mismatch; expected {self.type}, but got {kind}.")
        children, context = ([], None) if container is None else container.flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if mapping:
            keys = self.context[1] if self.type is defaultdict else self.context
            if tree.keys() != set(keys):
                missing, extra = sorted(set(keys) - tree.keys(), key=str), sorted(tree.keys() - set(keys), key=str)
                raise ValueError(f"Node keys mismatch; missing key(s): {missing}, extra key(s): {extra}.")
            children = [tree[key] for key in keys]
        elif context != self.context and self.type is not deque:
            raise ValueError(f"Node context mismatch for custom node type {self.type}.")
        for spec, child in zip(self.children_specs, children, strict=True):
            spec._flatten_up_to(child, found)

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        return list(self.children_specs)

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        return tree_unflatten(leaves, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and (self.type, self.context, self.children_specs) == (
            other.type, other.context, other.children_specs,
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.type, str(self.context), tuple(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        children = [spec.__repr__(indent + 2) for spec in self.children_specs]
        rows = f",\n{' ' * (indent + 2)}".join(children)
        return f"TreeSpec({self.type.__name__}, {self.context!r}, [{rows}])"


class _LeafSpecMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=_LeafSpecMeta):
    """The shape of a leaf. Every spec that is one is an instance."""

    __slots__ = ()

    def __new__(cls) -> Any:
        return treespec_leaf()

    def __init__(self) -> None: ...


def treespec_leaf() -> TreeSpec:
    return TreeSpec(None, None, ())


PyTreeSpec = TreeSpec


def _items(d: Any) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


_KNOWN = (  # of classes that are named tuples, the function that makes them is the type, and the class the context
    NodeDef(list, lambda x: (list(x), None), lambda children, _: list(children)),
    NodeDef(tuple, lambda x: (list(x), None), lambda children, _: tuple(children)),
    NodeDef(namedtuple, lambda x: (list(x), type(x)), lambda children, cls: cls(*children)),
    NodeDef(dict, _items, lambda children, keys: dict(zip(keys, children, strict=True))),
    NodeDef(OrderedDict, _items, lambda children, keys: OrderedDict(zip(keys, children, strict=True))),
    NodeDef(
        defaultdict,
        lambda x: (list(x.values()), [x.default_factory, list(x)]),
        lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
    ),
    NodeDef(deque, lambda x: (list(x), x.maxlen), deque),
    NodeDef(Size, lambda x: (list(x), None), lambda children, _: tuple(children)),
)
SUPPORTED_NODES: dict[Any, NodeDef] = {known.type: known for known in _KNOWN}
BUILTIN_TYPES = frozenset(SUPPORTED_NODES)
STANDARD_DICT_TYPES = frozenset((dict, OrderedDict, defaultdict))


def register_pytree_node(
    cls: type, flatten_fn: Any, unflatten_fn: Any, *, serialized_type_name: str | None = None, to_dumpable_context: Any = None,
    from_dumpable_context: Any = None, flatten_with_keys_fn: Any = None,
) -> None:  # fmt: skip
    """Make objects of a class containers: `flatten_fn(obj) -> (children, context)`, `unflatten_fn(children, context) -> obj`."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )

    def flatten(x: Any) -> tuple[list[Any], Any]:
        children, context = flatten_fn(x)
        return list(children), context

    SUPPORTED_NODES[cls] = NodeDef(
        cls, flatten, unflatten_fn, flatten_with_keys_fn, serialized_type_name, to_dumpable_context, from_dumpable_context
    )


def container_of(tree: Any) -> NodeDef | None:
    known = SUPPORTED_NODES.get(type(tree))
    if known is None and isinstance(tree, dict):
        return SUPPORTED_NODES.get(getattr(tree, "stands_for", None))  # the tables of modules, which are plain dictionaries in PyTorch
    if known is not None or not isinstance(tree, tuple):
        return known
    if hasattr(tree, "_fields") and hasattr(tree, "_make"):
        return SUPPORTED_NODES[namedtuple]
    if not hasattr(tree, "n_sequence_fields"):
        return None
    cls = type(tree)
    return SUPPORTED_NODES.setdefault(cls, NodeDef(cls, lambda x: (list(x), None), lambda children, _: cls(children)))


def _get_node_type(tree: Any) -> Any:
    """What SUPPORTED_NODES knows a container by; of a leaf, its class."""
    container = container_of(tree)
    return type(tree) if container is None else container.type


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and what is needed to build it again from others."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    container = container_of(tree)
    if container is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return treespec_leaf()
    children, context = container.flatten_fn(tree)
    return TreeSpec(container.type, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """A tree of the given shape."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that holds "
            f"{treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(given), treespec)


def _unflatten(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in spec.children_specs]
    return SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """The tree of what `func` makes of each leaf (and of the leaves at its place in further trees of the same shape)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return tree_unflatten(map(func, leaves, *map(spec.flatten_up_to, rests)), spec)


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree) -> PyTree:
    tree_map(func, tree, *rests)
    return tree


IsLeaf = Callable[[Any], bool] | None


def _test(kind: Any) -> Callable[[Any], bool]:
    """What tells the leaves that are meant: those of a type, or of several, or for which a function says so."""
    if isinstance(kind, type | tuple) or hasattr(kind, "__args__"):
        return lambda leaf: isinstance(leaf, kind)
    if not callable(kind):
        raise TypeError(f"Argument must be a type, a tuple of types, or a callable, not {type(kind)}")
    return kind  # type: ignore[no-any-return]


def map_only(type_or_types_or_pred: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorate a function of leaves so that it leaves others as they are."""
    meant = _test(type_or_types_or_pred)

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda leaf: func(leaf) if meant(leaf) else leaf

    return decorate


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` for the leaves of a type; the others stay."""
    return tree_map(map_only(kind)(func), tree, is_leaf=is_leaf)


def tree_map_only_(kind: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    tree_map_only(kind, func, tree, is_leaf)
    return tree


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any_only(kind: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    meant = _test(kind)
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if meant(leaf))


def tree_all_only(kind: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    meant = _test(kind)
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if meant(leaf))


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after the other."""
    yield from tree_leaves(tree, is_leaf)


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of the arguments of a call."""
    return tree_leaves((args, kwargs))


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return (is_leaf is not None and is_leaf(tree)) or container_of(tree) is None


def is_namedtuple_class(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_make")


def is_namedtuple_instance(obj: object) -> bool:
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Whether something is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "n_sequence_fields")


def is_structseq_instance(obj: object) -> bool:
    return is_structseq_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Whether something is a tuple of results with names, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def broadcast_prefix(prefix: PyTree, tree: PyTree, is_leaf: IsLeaf = None) -> list[Any] | None:
    """A leaf of `prefix` for each leaf of `tree`, where a leaf may stand for a whole branch; None if the two do not fit."""
    container, own = container_of(tree), container_of(prefix)
    if own is None or tree_is_leaf(prefix, is_leaf):
        return [prefix] * len(tree_leaves(tree, is_leaf))
    if container is None or type(prefix) is not type(tree):
        return None
    (branches, context), (prefixes, other) = container.flatten_fn(tree), own.flatten_fn(prefix)
    if len(branches) != len(prefixes) or (isinstance(tree, dict) and context != other):
        return None
    result: list[Any] = []
    for branch, start in zip(branches, prefixes, strict=True):
        part = broadcast_prefix(start, branch, is_leaf)
        if part is None:
            return None
        result += part
    return result


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    return broadcast_prefix(tree, treespec.unflatten([None] * treespec.num_leaves), is_leaf)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from . import _pytree_paths

    try:
        return getattr(_pytree_paths, name)
    except AttributeError:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'") from None
