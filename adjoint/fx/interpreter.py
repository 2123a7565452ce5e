"""Interpreter: runs a graph node by node. Transformer: makes another graph of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..nn import Module
from . import traceback as fx_traceback
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, Target, map_aggregate, map_arg
from .proxy import GraphAppendingTracer, Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node. Derive from it to see or change what happens: each kind of node has a method of its name.

    >>> import adjoint as ad
    >>> class Doubling(ad.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         return 2 * super().call_function(target, args, kwargs)
    >>> traced = ad.fx.symbolic_trace(lambda x: ad.relu(x))
    >>> Doubling(traced).run(ad.tensor([-1.0, 3.0]))
    tensor([0., 6.])
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            from ._codegen import last_uses

            self.user_to_last_uses = last_uses(self.graph.nodes)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The graph's result. Nodes that are in `initial_env` are not run."""
        self.env = {} if initial_env is None else initial_env
        self.args_iter: Iterator[Any] = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    told = f"While executing {node.format_node()}"
                    told += f"\nOriginal traceback:\n{node.stack_trace}" if node.stack_trace else ""
                    error.args = (f"{error.args[0]}\n\n{told}" if error.args else told, *error.args[1:])
                raise
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
            for used in self.user_to_last_uses.get(node, ()):
                self.env.pop(used, None)
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """The same with a list of the arguments, which is emptied."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        with fx_traceback.set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    # ---- the kinds of nodes -------------------------------------------------------------------------------------------------------------

    def placeholder(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!") from None

    def get_attr(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return target(*args, **kwargs)  # type: ignore[operator]

    def call_method(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        owner, *rest = args
        return getattr(owner, str(target))(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return args[0]

    # ---- helpers ------------------------------------------------------------------------------------------------------------------------

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module by its path."""
        found: Any = self.module
        parts = target.split(".")
        for place, name in enumerate(parts):
            if not hasattr(found, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: place + 1])}")
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The values of a node's arguments."""
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError("the arguments of a node are a tuple and a dict")
        return args, kwargs

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues")
            return self.env[node]

        return map_arg(args, value)


class _TransformerTracer(GraphAppendingTracer):
    def is_leaf_module(self, _: Module, __: str) -> bool:
        return True


class Transformer(Interpreter):
    """An interpreter whose values are proxies: what its methods do with them becomes the new graph.

    >>> import adjoint as ad
    >>> class TanhForRelu(ad.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(ad.tanh if target is ad.relu else target, args, kwargs)
    >>> traced = ad.fx.symbolic_trace(lambda x: ad.relu(x) + 1)
    >>> print(TanhForRelu(traced).transform().code.strip())
    def forward(self, x):
        tanh = torch.tanh(x);  x = None
        add = tanh + 1;  tanh = None
        return add
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph)

    def placeholder(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return Proxy(self.new_graph.create_node("placeholder", target, args), self.tracer)

    def get_attr(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(map_aggregate(result, lambda value: value.node if isinstance(value, Proxy) else value))
        return GraphModule(self.module, self.new_graph)
