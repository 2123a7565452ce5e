"""Nested containers as flat lists of leaves, and back: lists, tuples, named tuples, dicts, what is registered. Anything else is a leaf."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

PyTree = Any


class Container(NamedTuple):
    """How to take a container apart, `(children, context)`, and to put it together again."""

    flatten: Callable[[Any], tuple[list[Any], Any]]
    unflatten: Callable[[list[Any], Any], Any]


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

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context!r}, {self.children_specs!r})"


def LeafSpec() -> TreeSpec:
    return TreeSpec(None, None, ())


def _items(d: Any) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


SUPPORTED_NODES: dict[type, Container] = {
    list: Container(lambda x: (list(x), None), lambda children, _: children),
    tuple: Container(lambda x: (list(x), None), lambda children, _: tuple(children)),
    dict: Container(_items, lambda children, keys: dict(zip(keys, children, strict=True))),
    OrderedDict: Container(_items, lambda children, keys: OrderedDict(zip(keys, children, strict=True))),
    defaultdict: Container(
        lambda x: (list(x.values()), (x.default_factory, list(x))),
        lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
    ),
    deque: Container(lambda x: (list(x), x.maxlen), deque),
}
_NAMED_TUPLE = Container(lambda x: (list(x), type(x)), lambda children, cls: cls(*children))
_STRUCT_SEQUENCE = Container(lambda x: (list(x), type(x)), lambda children, cls: cls(children))


def register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, **_: Any) -> None:
    """Make objects of a class containers: `flatten_fn(obj) -> (children, context)`, `unflatten_fn(children, context) -> obj`."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")

    def flatten(x: Any) -> tuple[list[Any], Any]:
        children, context = flatten_fn(x)
        return list(children), context

    SUPPORTED_NODES[cls] = Container(flatten, unflatten_fn)


def container_of(tree: Any) -> Container | None:
    known = SUPPORTED_NODES.get(type(tree))
    if known is not None or not isinstance(tree, tuple):
        return known
    if hasattr(tree, "_fields") and hasattr(tree, "_make"):
        return _NAMED_TUPLE
    return _STRUCT_SEQUENCE if hasattr(tree, "n_sequence_fields") else None


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and what is needed to build it again from others."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    container = container_of(tree)
    if container is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LeafSpec()
    children, context = container.flatten(tree)
    return TreeSpec(type(tree), context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """A tree of the given shape."""
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(given)} but the spec refers to {treespec.num_leaves} leaves"
        )
    return _unflatten(iter(given), treespec)


def _unflatten(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in spec.children_specs]
    known = SUPPORTED_NODES.get(spec.type)
    if known is None:
        known = _NAMED_TUPLE if hasattr(spec.type, "_fields") else _STRUCT_SEQUENCE
    return known.unflatten(children, spec.context)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """The tree of what `func` makes of each leaf (and of the leaves at its place in further trees of the same shape)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(tree_flatten(rest, is_leaf)[0] for rest in rests)]
    return tree_unflatten(map(func, *columns), spec)


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree) -> PyTree:
    tree_map(func, tree, *rests)
    return tree


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: PyTree) -> PyTree:
    """`tree_map` for the leaves of a type; the others stay."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree)


def tree_any(pred: Callable[[Any], bool], tree: PyTree) -> bool:
    return any(map(pred, tree_leaves(tree)))


def tree_all(pred: Callable[[Any], bool], tree: PyTree) -> bool:
    return all(map(pred, tree_leaves(tree)))


def tree_any_only(kind: Any, pred: Callable[[Any], bool], tree: PyTree) -> bool:
    return any(pred(leaf) for leaf in tree_leaves(tree) if isinstance(leaf, kind))


def tree_all_only(kind: Any, pred: Callable[[Any], bool], tree: PyTree) -> bool:
    return all(pred(leaf) for leaf in tree_leaves(tree) if isinstance(leaf, kind))


def broadcast_prefix(prefix: PyTree, tree: PyTree) -> list[Any] | None:
    """A leaf of `prefix` for each leaf of `tree`, where a leaf may stand for a whole branch; None if the two do not fit."""
    container, own = container_of(tree), container_of(prefix)
    if own is None:
        return [prefix] * len(tree_leaves(tree))
    if container is None or type(prefix) is not type(tree):
        return None
    (branches, context), (prefixes, other) = container.flatten(tree), own.flatten(prefix)
    if len(branches) != len(prefixes) or (isinstance(tree, dict) and context != other):
        return None
    result: list[Any] = []
    for branch, start in zip(branches, prefixes, strict=True):
        part = broadcast_prefix(start, branch)
        if part is None:
            return None
        result += part
    return result
