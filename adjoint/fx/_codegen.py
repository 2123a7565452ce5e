"""A graph as Python code: a `forward` with one line for each node."""

from __future__ import annotations

import enum
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..utils import _pytree as pytree
from ._names import is_ours, pytorch_name, qualified_name
from ._namespace import _custom_builtins, _Namespace
from .node import Node, _type_repr, map_arg, tensor_text

if TYPE_CHECKING:
    from .graph import _node_list

# How functions of the module `operator` are written.
reflectable_magic_methods = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "div": "{} / {}", "mod": "{} % {}",
    "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}", "neg": "-{}",
    "invert": "~{}", **reflectable_magic_methods,
}  # fmt: skip
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}", "imul": "{} *= {}",
    "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}", "isub": "{} -= {}", "itruediv": "{} /= {}",
    "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip


@dataclass
class PythonCode:
    """The text of a function, the names that it needs, and which node each of its lines comes from."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] = field(default_factory=dict)
    _prologue_start: int = 0


def _is_from_torch(obj: Any) -> bool:
    """Whether code finds an object below `torch`."""
    return is_ours(obj) and pytorch_name(obj) is not None


def _format_target(base: str, target: str) -> str:
    """An attribute by its dotted path; names that Python could not read, such as those in a Sequential, by `getattr`."""
    for name in target.split("."):
        base = f"{base}.{name}" if name.isidentifier() else f'getattr({base}, "{name}")'
    return base


class _Writer:
    """Writes the lines of one graph."""

    def __init__(self, root: str, namespace: _Namespace, verbose: bool, annotate: Callable[[dict[str, Any]], str] | None) -> None:
        self.root = root
        self.namespace = namespace
        self.verbose = verbose
        self.annotate = annotate
        self.globals: dict[str, Any] = {}
        self.free_vars: list[str] = []
        self.wrapped: dict[str, None] = {}
        self.body: list[str] = []
        self.line_of: list[int | None] = []  # for each line of the body the place of its node
        self.returns = ""
        self._told: str | None = None

    # ---- names and values -------------------------------------------------------------------------------------------------------------

    def add_global(self, name: str, obj: Any) -> str:
        """The name by which code calls an object."""
        if _is_from_torch(obj) and obj is not _custom_builtins["device"].obj:
            return qualified_name(obj)
        name = self.namespace.create_name(name.replace(".", "_"), obj if isinstance(obj, typing.Hashable) else None)
        if self.globals.setdefault(name, obj) is not obj:
            raise AssertionError(f"two objects are to be called {name} in generated code")
        return name

    def type_text(self, kind: Any) -> str:
        if kind == ():
            return "()"
        origin, args = getattr(kind, "__origin__", None), getattr(kind, "__args__", None)
        if origin is None or not args:
            return self.add_global(_type_repr(kind), kind)
        if isinstance(kind, types.GenericAlias):
            base, named = origin, _type_repr(origin)
        else:
            base = getattr(typing, getattr(kind, "_name", None) or "", None) or origin
            named = str(base)
            if base is typing.Optional:
                base, named = typing.Union, "typing.Union"
        return f"{self.add_global(named, base)}[{','.join(map(self.type_text, args))}]"

    def text(self, value: Any) -> str:
        """A value as it is written in code."""
        if isinstance(value, Node):
            return repr(value)
        if isinstance(value, tuple):
            items = ", ".join(map(self.text, value))
            if hasattr(value, "_fields"):
                return f"{self.add_global(qualified_name(type(value)), type(value))}({items})"
            return f"({items},)" if len(value) == 1 else f"({items})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self.text(item)}" for key, item in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if isinstance(value, enum.Enum):
            return f"{self.add_global(qualified_name(type(value)), type(value))}.{value.name}"
        if isinstance(value, type):
            return self.add_global(_type_repr(value), value)
        return repr(value)

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        return ", ".join([*map(self.text, args), *(f"{name} = {self.text(value)}" for name, value in kwargs.items())])

    # ---- lines ------------------------------------------------------------------------------------------------------------------------

    def write(self, node: Node, place: int, unused_after: list[Node], codegen: CodeGen) -> None:
        if self.verbose and node.op not in ("placeholder", "output"):
            self._tell_origin(node)
        text = self.statement(node, codegen)
        if text:
            if node.op not in ("placeholder", "output") and unused_after:
                text += f";  {' = '.join([*map(repr, unused_after), 'None'])}"
            self._line(text, place)

    def _line(self, text: str, place: int | None) -> None:
        self.body.append(text)
        self.line_of.extend([place] * (text.count("\n") + 1))

    def _tell_origin(self, node: Node) -> None:
        """A comment on where the following nodes come from, if that is another place than before."""
        origin = "No stacktrace found for following nodes"
        if node.stack_trace:
            found = re.findall(r'File "(.*)", line (\d+), in (.*)\n\s*(.*)', node.stack_trace)
            origin = "File: {}:{} in {}, code: {}".format(*found[-1]) if found else node.stack_trace.strip().split("\n")[-1]
        if origin != self._told:
            self._told = origin
            self._line(f"{chr(10) if self.body else ''}# {origin}", None)

    def statement(self, node: Node, codegen: CodeGen) -> str:
        annotation = "" if node.type is None else f" : {self.type_text(node.type)}"
        if self.annotate is not None and node.op != "output" and (shown := self.annotate(node.meta)):
            annotation = f": {shown}"
        if node.op == "placeholder":
            default = f" = {self.text(node.args[0])}" if node.args else ""
            self.free_vars.append(f"{node.target}{annotation}{default}")
            plain = str(node.target).replace("*", "")
            return f"{node!r} = {plain}" if plain != repr(node) else ""
        if node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.type_text(node.type)}"
            return codegen.generate_output(node.args[0], repr_fn=self.text)
        result = f"{node!r}{annotation} = "
        if node.op == "call_function":
            return self.function_call(node, result)
        if node.op == "call_method":
            method = _format_target(self.text(node.args[0]), str(node.target))
            return f"{result}{method}({self.arguments(node.args[1:], node.kwargs)})"
        if node.op == "call_module":
            return f"{result}{_format_target(self.root, str(node.target))}({self.arguments(node.args, node.kwargs)})"
        if node.op == "get_attr":
            return result + _format_target(self.root, str(node.target))
        raise NotImplementedError(f"node: {node.op} {node.target}")

    def function_call(self, node: Node, result: str) -> str:
        function: Any = node.target
        name = getattr(function, "__name__", "")
        if getattr(function, "__module__", None) == "_operator" and not node.kwargs:
            if name in magic_methods:
                return result + magic_methods[name].format(*map(self.text, node.args))
            if name in inplace_methods:
                return f"{inplace_methods[name].format(*map(self.text, node.args))};  {result}{self.text(node.args[0])}"
        called = self.add_global(qualified_name(function), function)
        if called == "getattr" and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return result + _format_target(self.text(node.args[0]), node.args[1])
        if node.meta.get("is_wrapped", False):
            self.wrapped[called] = None
        return f"{result}{called}({self.arguments(node.args, node.kwargs)})"


def last_uses(nodes: _node_list) -> dict[Node, list[Node]]:
    """For each node those that nobody uses after it; itself, if nobody uses it at all."""
    unused_after: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for user in reversed(nodes):

        def note(node: Node, user: Node = user) -> None:
            if node not in seen:
                seen.add(node)
                unused_after.setdefault(user, []).append(node)

        map_arg(user.args, note)
        map_arg(user.kwargs, note)
    for node in nodes:
        if not node.users:
            unused_after.setdefault(node, []).append(node)
    return unused_after


class CodeGen:
    """How a graph becomes code. Derive from it to have other inputs and outputs than the graph's."""

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The first line of the function, and those that must come before the graph's."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, repr_fn: Callable[[Any], str] = repr) -> str:
        """The line that returns."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """The graph's inputs, given the function's."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The function's result, given the graph's."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """More names that the code needs, with their objects."""
        return []

    def _gen_python_code(
        self, nodes: _node_list, root_module: str, namespace: _Namespace, *, verbose: bool = False, include_stride: bool = False,
        include_device: bool = False,
    ) -> PythonCode:  # fmt: skip
        annotate = (lambda meta: tensor_text(meta, include_stride, include_device)) if verbose else None
        writer = _Writer(root_module, namespace, verbose, annotate)
        for name, known in _custom_builtins.items():
            writer.globals[name] = known.obj
        for name, value in self.additional_globals():
            writer.globals[name] = value
        unused_after = last_uses(nodes)
        for place, node in enumerate(nodes):
            writer.write(node, place, unused_after.get(node, []), self)
        if not writer.body:
            writer._line("pass", None)
        lines = [f"{line}\n" for line in writer.body]
        if self._body_transformer is not None:
            lines = self._body_transformer(lines)
        wraps = ""
        if writer.wrapped:
            from ._symbolic_trace import wrap

            called = writer.add_global("wrap", wrap)
            wraps = "\n".join(f'{called}("{name}")' for name in writer.wrapped)
        head = self.gen_fn_def(writer.free_vars, writer.returns)
        body = "\n".join(f"    {line}" for line in "".join(lines).split("\n"))
        start = head.count("\n") + 1
        places = {start + offset: place for offset, place in enumerate(writer.line_of, 1)}
        return PythonCode(f"\n{wraps}\n\n{head}\n{body}", writer.globals, places, 3 + wraps.count("\n"))


class _PyTreeInfo(NamedTuple):
    """The arguments of the function that was traced, and how the graph's inputs and outputs nest in them."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class _PyTreeCodeGen(CodeGen):
    """Code that takes nested arguments apart for the graph, and returns its outputs nested as they were."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        if self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(out if isinstance(out, list | tuple) else [out], self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        args = self.pytree_info.orig_args
        if args and args[0] == "self":
            free_vars.insert(0, "self")
        head = super().gen_fn_def(list(args), maybe_return_annotation)
        if free_vars:  # the graph has inputs, which lie within the arguments
            plain = [name.partition(":")[0].partition("=")[0].strip() for name in free_vars]
            head += f"\n    {', '.join(plain)}, = fx_pytree.tree_flatten_spec([{', '.join(args)}], self._in_spec)"
        return head

    def generate_output(self, output_args: Any, *, repr_fn: Callable[[Any], str] = repr) -> str:
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({repr_fn(output_args)}, self._out_spec)"
