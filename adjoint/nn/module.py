"""Module: the base class of all layers and models.

A module owns parameters, buffers and other modules. Assigning one of them to an attribute registers it, under the attribute's name;
everything else about a module (saving, moving, training mode, printing) follows from these three tables.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

from .._errors import spelled
from .._events import MODULE_MADE, TRAIN_MODE, ZERO_GRAD
from .._tensor import Parameter, Tensor
from ._conversion import Conversion, typename
from ._hooks import ALL_BUFFERS, ALL_MODULES, ALL_PARAMETERS, EVERYWHERE, CallHooks, call_with_hooks, registered
from ._members import TABLES, Members
from ._state_dict import StateDict
from .parameter import Buffer, zero_gradients


class Module(CallHooks, Conversion, StateDict):
    """The base class of layers and models: define `__init__`, which makes the parts, and `forward`, which uses them.

    >>> import adjoint as ad
    >>> class Scale(ad.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = ad.nn.Parameter(ad.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Scale()(ad.ones(2))
    tensor([2., 2.], grad_fn=<MulBackward0>)
    """

    call_super_init = False
    dump_patches = False
    training: bool
    forward: Callable[..., Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            name = type(self).__name__
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        own = self.__dict__  # straight into it: __setattr__ looks for these tables
        asked = type(self).__getattr__ is not Module.__getattr__  # a class's own, which is to see who reads its members
        own.update(
            training=True,
            _parameters={} if asked else Members.of(own),
            _buffers={} if asked else Members.of(own),
            _non_persistent_buffers_set=set(),
            _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(),
            _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
            _modules={} if asked else Members.of(own),
        )
        if MODULE_MADE:
            MODULE_MADE.tell(self)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- calling ----------------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks or EVERYWHERE:
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def _unimplemented(self, *args: Any) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function\n'
            f"  fix: define forward(self, ...) in class {type(self).__name__}, at the level of __init__"
        )

    forward = _unimplemented

    # ---- registration -----------------------------------------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter. `None` stands for one that is left out, such as an unused bias."""
        if "_parameters" not in self.__dict__:
            raise _before_init("cannot assign parameter before Module.__init__() call", self)
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                    f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
                )
            if ALL_PARAMETERS:
                param = registered(ALL_PARAMETERS, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is moved and, if `persistent`, saved with the module, but not trained."""
        if "_buffers" not in self.__dict__:
            raise _before_init("cannot assign buffer before Module.__init__() call", self)
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = registered(ALL_BUFFERS, self, name, tensor) if ALL_BUFFERS else tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module."""
        if "_modules" not in self.__dict__:
            raise _before_init("cannot assign module before Module.__init__() call", self)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = registered(ALL_MODULES, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: str, table: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if name not in table and self._has(name):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def _has(self, name: str) -> bool:
        """What `hasattr` says, without the error that it would look at."""
        kind = type(self)
        if kind.__getattr__ is not Module.__getattr__ or self._modules.__class__ is not Members:
            return hasattr(self, name)
        return name in self.__dict__ or (hasattr(kind, name) and hasattr(self, name))  # a property may have nothing to say yet

    # ---- attributes -------------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # Members are attributes (see `Members`), unless a class has its own __getattr__, or a __setstate__ that keeps plain dictionaries.
        own = self.__dict__
        for table in TABLES:
            if table in own and name in own[table]:
                return own[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise _before_init("cannot assign parameters before Module.__init__() call", self)
            if name not in parameters:
                self._forget(name, own, self._buffers, self._modules, self._non_persistent_buffers_set)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    spelled(
                        f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)\n"
                        f"  fix: module.{name} = torch.nn.Parameter(value), or, to keep the parameter that optimizers know, "
                        f"with torch.no_grad(): module.{name}.copy_(value)"
                    )
                )
            parameters[name] = None
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise _before_init("cannot assign module before Module.__init__() call", self)
            if name not in own["_modules"]:
                self._forget(name, own, self._parameters, self._buffers, self._non_persistent_buffers_set)
            own["_modules"][name] = registered(ALL_MODULES, self, name, value) if ALL_MODULES else value
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            self._modules[name] = registered(ALL_MODULES, self, name, None)
        elif isinstance(value, Buffer) or name in own.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
                )
            self._set_buffer(name, value)
        elif name in TABLES and name in own:
            own[name].clear()
            own[name].update(value)
        else:
            super().__setattr__(name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        """Register a buffer by assignment. An old subclass may have a `register_buffer` that knows only persistent ones."""
        if "_buffers" not in self.__dict__:
            raise _before_init("cannot assign buffer before Module.__init__() call", self)
        persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
        if type(self).register_buffer is Module.register_buffer or "persistent" in signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without the persistent "
                "argument is not allowed."
            )

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    @staticmethod
    def _forget(name: str, own: dict[str, Any], *tables: Any) -> None:
        """Remove a name from the attributes and from tables; all that is in `Members` is an attribute too."""
        if name not in own and own["_modules"].__class__ is Members:
            return
        own.pop(name, None)
        for table in tables:
            if isinstance(table, set):
                table.discard(name)
            else:
                table.pop(name, None)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[:1].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        members = {name for table in TABLES for name in self.__dict__[table]}
        if type(self).__setstate__ is Module.__setstate__:  # which makes the tables itself: most are empty, and copied one by one
            members |= {name for name in MADE_EMPTY if not self.__dict__.get(name, True)}
        return {name: value for name, value in self.__dict__.items() if name not in members}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Module.__init__(self)  # a pickle by another version may lack some of the tables
        for name, value in state.items():
            if name in TABLES:
                self.__dict__[name].update(value)
            else:
                self.__dict__[name] = value

    # ---- walking the tree -------------------------------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with dotted names; each once, unless `remove_duplicate` is False."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it; each once, unless `remove_duplicate` is False."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly below this one, with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly below this one."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, get_members_fn: Callable[[Module], Any], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names.

        >>> import adjoint as ad
        >>> [name for name, _ in ad.nn.Sequential(ad.nn.Linear(2, 1), ad.nn.Tanh()).named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their dotted names."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path; the empty path is this module."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module  # type: ignore[no-any-return]

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path; with `strict`, only where there is one."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        found = self._member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        found = self._member(target)
        path, _, name = target.rpartition(".")
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found  # type: ignore[no-any-return]

    def _member(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return getattr(module, name)

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every module below this one, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accepted for compatibility: see `adjoint.compile`."""

    # ---- modes ------------------------------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set training mode here and below; dropout and batch normalization ask for it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        if TRAIN_MODE:
            TRAIN_MODE.tell(self, mode)
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """The same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say for all parameters whether they are trained."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zero."""
        if ZERO_GRAD:
            ZERO_GRAD.tell(self, list(self.parameters()))
        if not set_to_none:
            return zero_gradients(self.parameters())
        for parameter in self.parameters():
            if parameter._grad is not None:
                parameter._grad = None

    # ---- printing ---------------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Override to print more than the class name."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extras = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if len(extras) == 1 and not children:
            return f"{self._get_name()}({extras[0]})"
        lines = "\n  ".join(extras + children)
        return f"{self._get_name()}(\n  {lines}\n)" if lines else f"{self._get_name()}()"

    def _repr_html_(self) -> str:
        """In a notebook: a tree that opens."""
        from ..viz.trees import tree

        return tree(self)


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of a layer that go on to the functions that make its tensors: `device`, `dtype`, `memory_format`."""
    known = ("device", "dtype", "memory_format")
    given = dict(kwargs or {})
    made: dict[str, Any] = dict(given.pop("factory_kwargs", {}))
    for name in known:
        if name in given and name in made:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        if name in given:
            made[name] = given.pop(name)
    if given:
        raise TypeError(f"unexpected kwargs {given.keys()}")
    return made


def indented(text: str) -> str:
    """All lines but the first moved to the right, as in a printed tree."""
    return text.replace("\n", "\n  ")


def _before_init(message: str, module: Module) -> AttributeError:
    return AttributeError(f"{message}\n  fix: call super().__init__() first in {type(module).__name__}.__init__")


# Tables that pickles need not have. PyTorch, which reads them too, makes those itself that it did not have from the beginning.
MADE_EMPTY = frozenset(name for name, value in Module().__dict__.items() if isinstance(value, dict | set)) - {
    *TABLES, "_backward_hooks", "_forward_hooks",
}  # fmt: skip

if TYPE_CHECKING:

    class TensorModule(Module):
        """A module that returns a tensor: to a type checker the base of such layers. When they run, it is Module itself."""

        def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...

else:
    TensorModule = Module
