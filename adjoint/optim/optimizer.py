"""Optimizer: parameter groups, state, hooks, saving and loading, in PyTorch's formats."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import wraps
from itertools import chain
from typing import Any

import numpy as np

from .._errors import compose
from .._events import OPTIMIZER_MADE, ZERO_GRAD
from .._site import warn
from .._standing import inert
from .._tensor import Tensor, wrap
from ..autograd.hooks import RemovableHandle
from ..autograd.node import Node

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]
Group = dict[str, Any]
Params = Iterable[Any]  # Tensors, (name, Tensor) pairs, or groups
ParamsT = Params  # PyTorch's name


class _RequiredParameter:
    """Stands for the default of a setting that has none."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()

_all_pre_hooks: Hooks = OrderedDict()
_all_post_hooks: Hooks = OrderedDict()
_global_optimizer_pre_hooks, _global_optimizer_post_hooks = _all_pre_hooks, _all_post_hooks  # PyTorch's names


def _add(table: Hooks, hook: Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return _add(_all_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return _add(_all_post_hooks, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A `step` method between its hooks."""

    @wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        try:
            before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        except AttributeError:  # one that wraps another optimizer and has not called Optimizer.__init__: the other has the hooks
            return step(self, *args, **kwargs)
        if not (before or after or _all_pre_hooks or _all_post_hooks):
            return step(self, *args, **kwargs)
        given = (self, *args)
        for hook in chain(_all_pre_hooks.values(), before.values()):
            changed = hook(self, given, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                given, kwargs = changed
        result = step(*given, **kwargs)
        for hook in chain(after.values(), _all_post_hooks.values()):
            hook(self, given, kwargs)
        return result

    return hooked


class Optimizer:
    """The base class of optimizers. A subclass defines `step`; `param_groups` and `state` hold what it works with."""

    defaults: dict[str, Any]
    state: defaultdict[Any, Any]
    param_groups: list[Group]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            from .._source import called

            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"torch.{params.dtype.scalar_name}Tensor\n"
                f"  fix: put it into a list, {type(self).__name__}([{called(params, 'tensor')}], ...)"
            )
        given: Any = params
        if not isinstance(given, Iterable):
            from .._source import variable_of

            has, name = hasattr(given, "parameters"), variable_of(given) or "model"
            hint = f"{type(self).__name__}({name}.parameters(), ...)" if has else "give a list of tensors, or model.parameters()"
            raise TypeError(f"'{type(given).__name__}' object is not iterable\n  fix: {hint}")
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list\n  fix: a generator such as model.parameters() can be read only once; "
                "call it again, and check that the model's layers are attributes (a plain list of layers has no parameters: use ModuleList)"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        if OPTIMIZER_MADE:
            OPTIMIZER_MADE.tell(self)

    def _make_hooks(self) -> None:
        self._optimizer_step_pre_hooks: Hooks = OrderedDict()
        self._optimizer_step_post_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: Hooks = OrderedDict()

    def _patch_step_function(self) -> None:
        """Called by wrappers that do not call `__init__`. `step` has its hooks since the class was made; this names it for profiles."""
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # ---- training ---------------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients. A `closure` computes the loss again and returns it."""
        raise NotImplementedError(f"class {type(self).__name__} does not define step(self, closure=None)")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zero."""
        if ZERO_GRAD:
            ZERO_GRAD.tell(self, self._all_params())
        if set_to_none:
            for group in self.param_groups:
                for param in group["params"]:
                    if param._grad is not None:  # or else `explain` would take it for one that had a gradient
                        param._grad = None
        else:
            from ..nn.parameter import zero_gradients

            zero_gradients(self._all_params())

    # ---- groups -----------------------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with settings of their own; what is not set comes from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
                "between runs. Please use a list instead."
            )
        params = [given] if isinstance(given, Tensor) else list(given)
        names = self._split_names(params)
        for place, param in enumerate(params):
            self._check_param(param, place)
        param_group["params"] = params
        if names is not None:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(set(params)) != len(params):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information"
            )
        known = {param for group in self.param_groups for param in group["params"]}
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _split_names(self, params: list[Any]) -> list[str] | None:
        """Take the names off the parameters, in place; None where there are none."""
        named = [isinstance(param, tuple) for param in params]
        if not any(named):
            names = None
        elif not all(named):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        else:
            names = [name for name, _ in params]
            params[:] = [param for _, param in params]
        if self.param_groups and ("param_names" in self.param_groups[0]) != (names is not None):
            already, added = ("with", "without") if names is None else ("without", "with")
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {added} names to the optimizer, whose groups are {already} names"
            )
        return names

    def _check_param(self, param: Any, place: int) -> None:
        if not isinstance(param, Tensor):
            hint = "\n  fix: *model.parameters() puts those of a module into a list" if hasattr(param, "parameters") else ""
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}{hint}")
        if not (self.defaults.get("differentiable") or param.is_leaf or param._retains):
            from .._source import called

            made, name = param.grad_fn, called(param, "w")
            raise ValueError(
                compose(
                    "can't optimize a non-leaf Tensor",
                    {"made": made.site} if isinstance(made, Node) else None,
                    f"parameter {place} of group {len(self.param_groups)}, of shape {list(param.shape)}, is the result of a "
                    "computation: give the optimizer the tensor it was computed from, or cut it off: "
                    f"{name} = {name}.detach().requires_grad_()",
                )
            )

    # ---- saving and loading -----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Settings and state; parameters are replaced by their numbers."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[Tensor, int] = {}
        for number, param in enumerate(self._all_params()):
            numbers.setdefault(param, number)  # one that occurs again keeps its first number
        groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[param] for param in group["params"]]
            groups.append(packed)
        state = {numbers[key] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        packed_state: Any = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, packed_state)
            packed_state = packed_state if changed is None else changed
        return packed_state  # type: ignore[no-any-return]

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over settings and state from `state_dict()` of this or of PyTorch's optimizer of the same name."""
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved_groups = state_dict["param_groups"]
        if len(saved_groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(new["params"]) != len(old["params"]) for new, old in zip(saved_groups, self.param_groups, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        numbers = chain.from_iterable(group["params"] for group in saved_groups)
        params = dict(zip(numbers, self._all_params(), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = {name: as_state(entry, name, params[key]) for name, entry in value.items()}
            else:
                state[key] = deepcopy(value)
        groups = []
        for old, new in zip(self.param_groups, saved_groups, strict=True):
            group = {key: as_state(value, key, None) for key, value in new.items() if key != "params"}
            if "param_names" in old and "param_names" not in group:
                group["param_names"] = old["param_names"]
            groups.append({**group, "params": old["params"]})
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    @inert("there are no graphs of an accelerator to be captured")
    def _accelerator_graph_capture_health_check(self) -> None:
        """What optimizers of other libraries ask for at the beginning of a step."""

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Tensor | None]], with_indices: bool = False) -> Any:
        from ..utils._foreach_utils import _group_tensors_by_device_and_dtype

        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def _all_params(self) -> list[Tensor]:
        return [param for group in self.param_groups for param in group["params"]]

    # ---- hooks ------------------------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new `(args, kwargs)`."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before the state is collected."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after it; it may return another state dict."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another state dict."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def as_state(value: Any, name: str, param: Tensor | None) -> Any:
    """A loaded value: a copy, tensors (ours or foreign) with the dtype of their parameter, except for `step`, which counts."""
    if isinstance(value, Tensor) and hasattr(value._data, "twin"):  # a wrapper, such as a tensor of which each process has a part
        copy = value.detach().clone()
        return copy if param is None or name == "step" or not param.is_floating_point() else copy.to(param.dtype)
    if isinstance(value, Tensor) or hasattr(value, "__array__"):
        array = np.asarray(value._data if isinstance(value, Tensor) else value).copy()
        if param is not None and name != "step" and param.is_floating_point():
            array = array.astype(param._data.dtype, copy=False)
        return wrap(array)
    if isinstance(value, dict):
        return {key: as_state(entry, key, param) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(as_state(entry, name, param) for entry in value)
    return deepcopy(value)


def __getattr__(name: str) -> Any:
    """What optimizers outside of this library import from here."""
    if not name.startswith("__"):  # Python asks for its own names with every import
        from . import _helpers

        if hasattr(_helpers, name):
            return getattr(_helpers, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
