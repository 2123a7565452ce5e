"""Graph: a function as a list of nodes, to be read, changed and turned into code."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._codegen import (
    CodeGen,
    PythonCode,
    _format_target,
    _is_from_torch,
    _PyTreeCodeGen,
    _PyTreeInfo,
    inplace_methods,
    magic_methods,
    reflectable_magic_methods,
)
from ._names import pytorch_name
from ._namespace import _custom_builtins, _Namespace, _register_custom_builtin
from .node import Node, Target, _get_qualified_name, _legal_ops, map_arg

__all__ = [
    "CodeGen", "Graph", "PythonCode", "_Namespace", "_PyTreeCodeGen", "_PyTreeInfo", "_custom_builtins", "_format_target",
    "_get_qualified_name", "_is_from_torch", "_register_custom_builtin", "inplace_methods", "magic_methods", "reflectable_magic_methods",
]  # fmt: skip

_NO_DEFAULT: Any = object()


def _is_magic(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _snake_case(s: str) -> str:
    """`LeakyReLU` is `leaky_re_lu`."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", s).lower()


class _node_list:
    """The nodes of a graph in order. While it is walked over, nodes may come and go."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node: Node = getattr(root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class Graph:
    """A list of nodes that together are a function: inputs, calls in the order in which they are made, one output.

    >>> import adjoint as ad
    >>> graph = ad.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(ad.relu, (x,))
    >>> _ = graph.output(y)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    >>> ad.fx.GraphModule({}, graph)(ad.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: dict[str, Any] | None = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._graph_namespace = _Namespace()
        self._insert: Callable[[Node], None] = self._root.prepend
        self._positions: dict[Node, int] = {}
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    @property
    def owning_module(self) -> Any:
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    # ---- reading ----------------------------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> _node_list:
        """All nodes in order."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The node that returns the result."""
        node = self._root._prev
        if node.op != "output":
            raise AssertionError("the last node of the graph is no output")
        return node

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, in order; for calls, those of one target."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def _position(self, node: Node) -> int:
        if not self._positions:
            self._positions = {node: place for place, node in enumerate(self.nodes)}
        return self._positions[node]

    def _changed(self) -> None:
        if self._positions:
            self._positions = {}

    # ---- making nodes -----------------------------------------------------------------------------------------------------------------

    def create_node(
        self, op: str, target: Target, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        name: str | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Make a node of any kind and put it where nodes are being inserted: at the end, unless `inserting_before` says otherwise."""
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        name = self._graph_namespace.create_name(self._target_to_str(target) if name is None else name, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        for hook in getattr(self._owning_module, "_create_node_hooks", ()):
            hook(node)
        return node

    def _target_to_str(self, target: Target) -> str:
        """What a node is called that has no name yet."""
        if isinstance(target, str):
            return _snake_case(target[2:-2] if _is_magic(target) else target)
        ours = pytorch_name(target)
        return _snake_case(target.__name__ if ours is None else ours.rpartition(".")[2])

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = _NO_DEFAULT) -> Node:
        """An input."""
        args = () if default_value is _NO_DEFAULT else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module."""
        if self.owning_module is not None and not _reaches(self.owning_module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary Parameter, or "
                "nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None, type_expr: Any = None
    ) -> Node:
        """A call of a submodule, by its path."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)  # which says what is missing
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None, type_expr: Any = None
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        type_expr: Any = None, name: str | None = None,
    ) -> Node:  # fmt: skip
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the graph returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    # ---- copying ----------------------------------------------------------------------------------------------------------------------

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A copy of another graph's node, with `arg_transform` of the nodes in its arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy the nodes of another graph that are not in `val_map`, and enter them there. Returns what its output is here."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[Any, Any] | None = None) -> Graph:
        twin = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        copied: dict[Node, Node] = {}
        result = twin.graph_copy(self, copied, return_output_node=True)
        twin._codegen = copy.deepcopy(self._codegen)
        twin._co_fields = self._co_fields
        if result is not None:
            value, node = result
            output = twin.output(value, node.type)
            output.meta = copy.copy(node.meta)
            copied[node] = output
        if memo is not None:
            memo[id(self)] = twin
            memo.update((id(node), made) for node, made in copied.items())
        return twin

    # ---- changing ---------------------------------------------------------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nobody uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self._owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        to_erase._set_arguments((), {})
        self._len -= 1
        self._changed()

    def _checked(self, n: Node) -> Node:
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return n

    def inserting_before(self, n: Node | None = None) -> Any:
        """Inside the `with` block, nodes are made before this one (without one, at the beginning)."""
        if n is None:
            return self.inserting_after(self._root)
        return _InsertPoint(self, self._checked(n).prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Inside the `with` block, nodes are made after this one (without one, at the end)."""
        if n is None:
            return self.inserting_before(self._root)
        return _InsertPoint(self, self._checked(n).append)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes that the output does not need. Says whether there were any."""
        self.lint()
        impure = Node.is_impure if is_impure_node is None else is_impure_node
        before = len(self.nodes)
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return len(self.nodes) < before

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.users = {}
            self.erase_node(node)

    # ---- text and code ----------------------------------------------------------------------------------------------------------------

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have code made in another way."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Change the lines of the body whenever code is made: `make_transformer` gets the function that did so until now."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextmanager
        def undoing() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return undoing()

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, given the arguments of the function that was traced."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result as the function that was traced returns it."""
        return self._codegen.process_outputs(out)

    def python_code(
        self, root_module: str, *, verbose: bool = False, include_stride: bool = False, include_device: bool = False
    ) -> PythonCode:
        """The graph as a function of a module that is called `root_module` in it. `verbose` adds origins, shapes and dtypes."""
        namespace = _Namespace()

        # In code that calls a function `relu`, a node may need another name; so all are named anew, in the namespace of the code.
        def renamed(node: Node) -> str:
            return namespace.create_name(node.name, node)

        nodes = list(self.nodes)
        before = [node._repr_fn for node in nodes]
        for node in nodes:
            node._repr_fn = renamed
        try:
            return self._codegen._gen_python_code(
                self.nodes, root_module, namespace, verbose=verbose, include_stride=include_stride, include_device=include_device
            )
        finally:
            for node, shown in zip(nodes, before, strict=True):
                node._repr_fn = shown

    def __str__(self) -> str:
        return "\n    ".join(["graph():", *(node.format_node() or "" for node in self.nodes)])

    def print_tabular(self) -> None:
        """Print a table of the nodes."""
        rows = [[str(cell) for cell in (node.op, node.name, node.target, node.args, node.kwargs)] for node in self.nodes]
        rows.insert(0, ["opcode", "name", "target", "args", "kwargs"])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        # The heading keeps two more columns than it needs, as in the tables that PyTorch has made of it.
        widths = [max(width, len(title) + 2) for width, title in zip(widths, rows[0], strict=True)]
        rows.insert(1, ["-" * width for width in widths])
        for row in rows:
            print("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())

    # ---- checking ---------------------------------------------------------------------------------------------------------------------

    def lint(self) -> None:
        """Raise an error if the graph is not well formed: order, names, owners, and what the module lacks."""
        names: set[str] = set()
        values: set[Node] = set()

        def check(arg: Node, node: Node) -> None:
            if arg.graph is not self:
                raise RuntimeError(
                    f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you are copying "
                    "nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n" + str(self)
                )
            if arg not in values:
                raise RuntimeError(
                    f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check that Nodes in the graph are "
                    f"topologically ordered\n{self}"
                )

        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node._erased:
                raise RuntimeError(f"Attempted to use erased node {node} in graph")
            for arg in node.all_input_nodes:
                check(arg, node)
            values.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._lint_target(node)

    def _lint_target(self, node: Node) -> None:
        path = str(node.target)
        if _reaches(self.owning_module, path):
            return
        *_, last = path.split(".")
        raise RuntimeError(
            f"Node {node} target {path} references nonexistent attribute {last} of {path.rpartition('.')[0]}"
            f"\n  fix: module.add_submodule('{path}', ...), or remove the node"
        )


def _reaches(module: Any, path: str) -> bool:
    for name in path.split("."):
        if not hasattr(module, name):
            return False
        module = getattr(module, name)
    return True


class _InsertPoint:
    """Nodes are made elsewhere from now on, until the `with` block ends."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self._graph = graph
        self._before = graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._graph._insert = self._before
