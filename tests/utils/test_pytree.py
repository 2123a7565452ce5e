"""Nested containers: leaves, paths, shapes."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import adjoint as ad
from adjoint.utils import _pytree as pytree

Point = namedtuple("Point", "x y")
TREE = {"b": [1, (2, 3)], "a": Point(4, None)}


def test_trees_of_the_same_shape_go_together_by_key():
    assert pytree.tree_map(lambda x, y: (x, y), {"a": 1, "b": 2}, {"b": 3, "a": 4}) == {"a": (1, 4), "b": (2, 3)}
    assert pytree.tree_map(lambda x, y: (x, y), [1, 2], [[3], 4]) == [(1, [3]), (2, 4)]
    for wrong, message in (([1], "Node arity mismatch"), ((1, 2), "Node type mismatch")):
        with pytest.raises(ValueError, match=message):
            pytree.tree_map(max, [1, 2], wrong)
    with pytest.raises(ValueError, match="Node keys mismatch"):
        pytree.tree_map(max, {"a": 1}, {"b": 1})
    with pytest.raises(ValueError, match="has length 1 but the spec refers to a pytree that holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))


def test_paths():
    pairs, spec = pytree.tree_flatten_with_path(TREE)
    assert [pytree.keystr(path) for path, _ in pairs] == ["['b'][0]", "['b'][1][0]", "['b'][1][1]", "['a'].x", "['a'].y"]
    assert all(pytree.key_get(TREE, path) is leaf for path, leaf in pairs) and spec.unflatten(leaf for _, leaf in pairs) == TREE
    assert pytree.tree_map_with_path(lambda path, x, y: (pytree.keystr(path), x + y), [1, 2], [3, 4]) == [("[0]", 4), ("[1]", 6)]


@pytest.mark.parametrize("tree", [1, [1, {"a": 2}, (3,)], OrderedDict(a=1), deque([1, 2], maxlen=3), Point(1, [2]), defaultdict(list, a=1)])
def test_shapes_as_texts(tree):
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_shapes():
    spec = pytree.tree_structure([1, {"a": 2}])
    assert repr(spec) == "TreeSpec(list, None, [*,\n  TreeSpec(dict, ['a'], [*])])" and pytree.treespec_pprint(spec) == "[*, {'a': *}]"
    assert (spec.num_nodes, spec.num_leaves, spec.num_children) == (4, 2, 2) and spec.child(0).is_leaf()
    with pytest.raises(ValueError, match="Unknown protocol 99"):
        pytree.treespec_loads("[99, {}]")


def test_leaves_of_a_kind():
    assert pytree.tree_map_only((int, float), lambda x: x + 1, [1, 2.0, "a"]) == [2, 3.0, "a"]
    assert pytree.tree_map_only(lambda x: x == "a", str.upper, [1, "a"]) == [1, "A"]
    assert pytree.tree_is_leaf(None) and not pytree.tree_is_leaf([]) and list(pytree.tree_iter(TREE)) == [1, 2, 3, 4, None]


def test_classes_as_containers():
    @dataclasses.dataclass
    class Pair:
        a: int
        b: int | None

    pytree.register_dataclass(Pair)
    try:
        assert pytree.tree_leaves(Pair(1, None)) == [1] and pytree.tree_map(lambda x: x + 1, Pair(1, None)) == Pair(2, None)
        with pytest.raises(ValueError, match="already registered"):
            pytree.register_dataclass(Pair)
    finally:
        del pytree.SUPPORTED_NODES[Pair]
    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pytree.register_constant(object)


def test_derived_containers_are_registered_with_the_helpers_of_their_base():
    class Record(dict):
        pass

    pytree._register_pytree_node(
        Record, pytree._dict_flatten, lambda values, keys: Record(pytree._dict_unflatten(values, keys)),
        flatten_with_keys_fn=pytree._dict_flatten_with_keys,
    )  # fmt: skip
    try:
        tree = Record(b=[1], a=2)
        assert pytree.tree_leaves(tree) == [1, 2]
        again = pytree.tree_map(str, tree)
        assert type(again) is Record and again == {"b": ["1"], "a": "2"}
        assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(tree)] == ["['b'][0]", "['a']"]
    finally:
        pytree._deregister_pytree_node(Record)
    assert pytree._is_leaf(Record())
    with pytest.raises(AttributeError, match="_dict_turn"):
        pytree._dict_turn  # noqa: B018


def test_shapes_are_built_by_hand_from_the_registry():
    point = Point([1], 2)
    kind = pytree._get_node_type(point)
    children, context = pytree.SUPPORTED_NODES[kind].flatten_fn(point)
    assert kind is namedtuple and children == [[1], 2] and context is Point
    spec = pytree.TreeSpec(kind, context, [pytree.tree_structure(child) for child in children])
    assert spec == pytree.tree_structure(point) and spec.unflatten([3, 4]) == Point([3], 4)
    assert repr(spec) == f"TreeSpec(namedtuple, {Point!r}, [TreeSpec(list, None, [*]),\n  *])"
    assert pytree._get_node_type(3) is int and int not in pytree.SUPPORTED_NODES
    assert pytree.arg_tree_leaves(1, [2], a=(3,)) == [1, 2, 3]


def test_named_tuples_have_another_name_in_files():
    pytree._register_namedtuple(Point, serialized_type_name="geometry.Point")
    try:
        text = pytree.treespec_dumps(pytree.tree_structure(Point(1, 2)))
        assert "geometry.Point" in text and pytree.treespec_loads(text).unflatten([1, 2]) == Point(1, 2)
    finally:
        pytree._NAMED_TUPLES.clear()


def test_leaves_are_instances_of_leafspec():
    spec = pytree.tree_structure([1])
    assert isinstance(spec.child(0), pytree.LeafSpec) and isinstance(pytree.LeafSpec(), pytree.TreeSpec) and pytree.LeafSpec().is_leaf()
    assert not isinstance(spec, pytree.LeafSpec)


class Colour(enum.Enum):
    RED = 1


class Painted:
    def __init__(self, x):
        self.x = x


def test_enumerations_in_shapes_as_texts():
    pytree.register_pytree_node(
        Painted, lambda p: ([p.x], Colour.RED), lambda children, _: Painted(*children), serialized_type_name="painted"
    )
    try:
        spec = pytree.tree_structure(Painted(1))
        text = pytree.treespec_dumps(spec)
        assert '"__enum__' in text.replace("\\", "") and pytree.treespec_loads(text) == spec
    finally:
        pytree._deregister_pytree_node(Painted)


def test_constants_belong_to_the_shape():
    @dataclasses.dataclass(frozen=True)
    class Constant:
        x: int

    assert not pytree.is_constant_class(Constant)
    pytree.register_constant(Constant)
    leaves, spec = pytree.tree_flatten([Constant(1), 2])
    assert leaves == [2] and spec.unflatten([3]) == [Constant(1), 3] and pytree.is_constant_class(Constant)
    assert pytree._is_constant_holder(spec.child(0)) and pytree._retrieve_constant(spec.child(0)) == Constant(1)
    with pytest.raises(AssertionError, match="does not correspond to a registered constant"):
        pytree._retrieve_constant(spec)


def test_prefixes():
    spec = pytree.tree_structure([[0, 0], (0, 0)])
    assert pytree._broadcast_to_and_flatten([1, (2, 3)], spec) == [1, 1, 2, 3]
    assert pytree._broadcast_to_and_flatten([1, (2, 3)], spec, is_leaf=lambda x: isinstance(x, tuple)) == [1, 1, (2, 3)]
    assert pytree._broadcast_to_and_flatten((1, 2), spec) is None


def test_the_other_name():
    from adjoint.utils import _cxx_pytree

    assert _cxx_pytree.tree_map is pytree.tree_map and "tree_flatten" in dir(_cxx_pytree)
    assert isinstance(pytree.SequenceKey(1), pytree.KeyEntry)


def test_sizes_and_the_tables_of_modules_are_containers():
    assert pytree.tree_leaves(ad.ones(2, 3).shape) == [2, 3]
    assert pytree.tree_map(lambda n: n + 1, ad.Size([1, 2])) == (2, 3)
    tables = ad.nn.Linear(2, 3)._parameters
    shapes = pytree.tree_map(lambda p: p.shape[0], tables)
    assert type(shapes) is dict and shapes == {"weight": 3, "bias": 3}
