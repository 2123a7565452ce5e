"""GraphModule: a module whose `forward` is made from a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._serialization import save
from .._tensor import Parameter, Tensor
from ..nn import Module
from ._codegen import _is_from_torch
from ._names import qualified_name
from ._namespace import _custom_builtins
from .graph import Graph, PythonCode, _PyTreeCodeGen
from .node import _type_repr

__all__ = ["GraphModule", "reduce_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")
_numbers = itertools.count()


# ---- code -------------------------------------------------------------------------------------------------------------------------------


def _exec_with_source(src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> None:
    """Run source so that tracebacks show its lines."""
    name = f"<eval_with_key>.{next(_numbers)}"
    if co_fields:
        name += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
    linecache.cache[name] = len(src), None, src.splitlines(keepends=True), name
    exec(compile(src, name, "exec", dont_inherit=True), globals)  # annotations are values, as in the file of the program


def _forward_from_src(src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> Callable[..., Any]:
    return _method_from_src("forward", src, globals, co_fields)


def _method_from_src(method_name: str, src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> Callable[..., Any]:
    """The function of this name that the source defines."""
    namespace = globals.copy()
    _exec_with_source(src, namespace, co_fields)
    return namespace[method_name]  # type: ignore[no-any-return]


def _format_import_block(globals: dict[str, Any]) -> str:
    """The lines that give a file the names which code needs."""
    return "\n".join(sorted({_format_import_statement(name, obj) for name, obj in globals.items()}))


def _format_import_statement(name: str, obj: Any) -> str:
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if _is_from_torch(obj):
        return "import torch"
    if not hasattr(obj, "__name__"):  # a type as it is written in a signature, which may as well be a text
        return f"{name} = {(obj if isinstance(obj, str) else _type_repr(obj))!r}"
    module, _, attribute = qualified_name(obj).rpartition(".")
    return f"from {module or 'builtins'} import {attribute} as {name}"


def _run_imports(import_block: str) -> dict[str, Any]:
    """The names that such lines give. What they call `torch` is this library."""
    names: dict[str, Any] = {}
    ours = __name__.partition(".")[0]
    lines = re.sub(r"^import torch$", f"import {ours} as torch", import_block, flags=re.MULTILINE)
    exec(re.sub(r"^(from|import) torch\b", rf"\1 {ours}", lines, flags=re.MULTILINE), names)
    return names


# ---- attributes by their path -----------------------------------------------------------------------------------------------------------


def _owner(module: Module, path: list[str]) -> Module:
    """The module at a path, whose missing parts are made."""
    for name in path:
        child = getattr(module, name, None)
        if child is None:
            child = Module()
            setattr(module, name, child)
        module = child
    return module


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Give one module what the other has at a path: the same object, registered as it is there."""
    *prefix, field = target.split(".")
    source: Any = from_module
    for name in prefix:
        source = getattr(source, name)
        if getattr(to_module, name, None) is source:  # a whole module has been copied already, with all in it
            return
        to_module = _owner(to_module, [name])
    value = getattr(source, field)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(field, value, field not in getattr(source, "_non_persistent_buffers_set", ()))
    else:
        setattr(to_module, field, value)


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Put an object at a path."""
    *prefix, field = target.split(".")
    to_module = _owner(to_module, prefix)
    if isinstance(from_obj, Tensor) and not isinstance(from_obj, Parameter):
        to_module.register_buffer(field, from_obj)
    else:
        setattr(to_module, field, from_obj)


def _get_attr(model: Module, attr_name: str) -> Any:
    found: Any = model
    for name in attr_name.split("."):
        found = getattr(found, name)
    return found


def _has_attr(model: Module, attr_name: str) -> bool:
    try:
        _get_attr(model, attr_name)
    except AttributeError:
        return False
    return True


def _del_attr(model: Module, attr_name: str) -> None:
    *prefix, field = attr_name.split(".")
    delattr(_get_attr(model, ".".join(prefix)) if prefix else model, field)


# ---- the module -------------------------------------------------------------------------------------------------------------------------


class GraphModule(Module):
    """A module made from a graph: `graph` can be changed, `code` shows it, `recompile()` makes `forward` anew.

    `root` is a module, or a dictionary by path, that has what the graph calls and reads. It is taken over, not copied.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # Each object has a class of its own, because each has a forward of its own.
        base = next(kind for kind in cls.__mro__ if kind.__qualname__.rpartition(".")[2] != "GraphModuleImpl")

        class GraphModuleImpl(base):  # type: ignore[valid-type,misc]
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, str(node.target))
        elif isinstance(root, dict):
            wanted = [str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in ``root``!")
            for target in sorted(wanted, key=lambda path: path.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        tracer = graph._tracer_cls
        self._tracer_cls = tracer if tracer and "<locals>" not in tracer.__qualname__ else None
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {})) if isinstance(root, GraphModule) else {}
        for hooks in _HOOKS:
            self.__dict__[hooks] = []
        self.graph = graph

    # ---- the graph and its code -------------------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """What `forward` does. Call `recompile()` after changing it."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph: Graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Make `forward` from the graph as it is now."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        self._lineno_map = code._lineno_map
        type(self).forward = _forward_from_src(code.src, code.globals, self._graph._co_fields)
        return code

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False) -> str:
        """Print, and return, the code of this module and of graph modules below it, with shapes and origins where they are known."""
        text = self._readable(self._get_name(), include_stride, include_device)
        if print_output:
            print(text)
        return text

    def _readable(self, name: str, include_stride: bool, include_device: bool) -> str:
        code = self._graph.python_code(
            root_module="self", verbose=True, include_stride=include_stride, include_device=include_device
        ).src.strip()
        below = [
            module._readable(path, include_stride, include_device)
            for path, module in self.named_children()
            if isinstance(module, GraphModule)
        ]
        text = "\n\n".join([f"class {name}(torch.nn.Module):\n{_indented(code)}\n", *map(_indented, below)])
        return text.rstrip("\n") + "\n"

    def __str__(self) -> str:
        return "\n".join([super().__repr__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"])

    # ---- submodules -------------------------------------------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path. Says whether that was possible."""
        *prefix, field = target.split(".")
        module: Any = self
        for name in prefix:
            child = getattr(module, name, None)
            if child is None:
                child = Module()
                setattr(module, name, child)
            if not isinstance(child, Module):
                return False
            module = child
        module.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path. Says whether there was one."""
        *prefix, field = target.split(".")
        module: Any = self
        for name in prefix:
            module = getattr(module, name, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, field, None), Module):
            return False
        delattr(module, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the graph neither calls nor reads from."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            path = str(node.target).split(".")
            used.update(".".join(path[: place + 1]) for place in range(len(path)))
            if node.op == "call_module":
                try:
                    module = self.get_submodule(str(node.target))
                except AttributeError:
                    continue
                used.update(f"{node.target}.{name}" for name, _ in module.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- copies and files -------------------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """What belongs to the module besides its graph, with members in their tables only."""
        members = {name for table in ("_parameters", "_buffers", "_modules") for name in self.__dict__[table]}
        return {name: value for name, value in self.__dict__.items() if name not in members and name != "_graph"}

    def __reduce__(self) -> Any:
        code = self.recompile()
        return reduce_graph_module, (self._state(), _format_import_block(code.globals))

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        state = _CodeOnlyModule(copy.deepcopy(self._state(), memo))
        GraphModule.__init__(twin, state, copy.deepcopy(self._graph, memo), self._get_name())
        for name, value in state.__dict__.items():
            if name.endswith("_hooks") or not hasattr(twin, name):
                twin.__dict__[name] = value
        twin.meta = state.__dict__.get("meta", {})
        for hook in self._deepcopy_hooks:
            hook(twin)
        return twin

    def __copy__(self) -> GraphModule:
        twin = GraphModule(self, self.graph, self._get_name())
        twin.meta = self.meta
        return twin

    def to_folder(self, folder: str | Path, module_name: str = "FxModule") -> None:
        """Write the module as a Python package: `from folder import FxModule` makes it again."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        own = {name: value for table in (self._parameters, self._buffers) for name, value in table.items() if value is not None}
        save({name: value.detach() for name, value in own.items()}, folder / "members.pt")
        lines = ["members = torch.load(folder / 'members.pt')"] if own else []
        for name, child in self.named_children():
            save(child, folder / f"{name}.pt")
            lines.append(f"self.add_module('{name}', torch.load(folder / '{name}.pt', weights_only=False))  # {_first_line(child)}")
        for name, value in own.items():
            if name in self._parameters:
                lines.append(f"self.{name} = torch.nn.Parameter(members['{name}'], requires_grad={value.requires_grad})")
            else:
                persistent = name not in self._non_persistent_buffers_set
                lines.append(f"self.register_buffer('{name}', members['{name}'], persistent={persistent})")
        code = self.graph.python_code(root_module="self")
        imports = _format_import_block(code.globals)
        body = "\n".join(f"        {line}" for line in lines)
        text = f"""from pathlib import Path

{imports}


class {module_name}(torch.nn.Module):
    def __init__(self, folder=Path(__file__).parent):
        super().__init__()
        folder = Path(folder)
{body}

{_indented(code.src.strip())}
"""
        (folder / "module.py").write_text(text, encoding="utf-8")
        (folder / "__init__.py").write_text("from .module import *\n", encoding="utf-8")

    def _replicate_for_data_parallel(self) -> GraphModule:
        return copy.copy(self)

    # ---- watching changes -------------------------------------------------------------------------------------------------------------

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable[..., Any]) -> None:
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f: Callable[..., Any]) -> None:
        self._deepcopy_hooks.remove(f)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line.strip() else "" for line in text.split("\n"))


def _first_line(module: Module) -> str:
    return repr(module).partition("\n")[0]


# ---- reading them again -----------------------------------------------------------------------------------------------------------------


class _CodeOnlyModule(Module):
    """What a pickled GraphModule had, without its graph."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        Module.__setstate__(self, body)


def reduce_graph_module(body: dict[str, Any], import_block: str) -> Module:
    """Called when a GraphModule is unpickled: its code is traced again."""
    source = body.get("_code") or body["code"]
    return _deserialize_graph_module(_forward_from_src(source, _run_imports(import_block)), body)


def _deserialize_graph_module(forward: Callable[..., Any], body: dict[str, Any]) -> Module:
    from ._symbolic_trace import Tracer

    tracer_cls = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_cls):  # type: ignore[valid-type,misc]
        def is_leaf_module(self, _: Module, __: str) -> bool:
            return True

    class WithForward(_CodeOnlyModule):
        pass

    WithForward.forward = forward
    root = WithForward(body)
    graph = KeepModules().trace(root, **body.get("_tracer_extras", {}))
    graph._tracer_cls = tracer_cls
    made = GraphModule(root, graph, body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if not hasattr(made, name):
            setattr(made, name, value)
    made.meta = body.get("meta", {})
    return made
