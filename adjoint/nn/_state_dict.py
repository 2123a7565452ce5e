"""`state_dict` and `load_state_dict`: a module's parameters and buffers by dotted name, in PyTorch's format.

The keys, the order, the `_metadata` with version numbers and the hooks are PyTorch's, so checkpoints can be exchanged. A value to load
may also be a tensor of PyTorch's, so the state dict of a PyTorch module can be loaded as it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

import numpy as np

from .. import __future__ as settings
from .._errors import spelled
from .._site import Site, here, warn
from .._state import GRAD, get_mode, swap_bits
from .._tensor import Parameter, Tensor, wrap
from ..autograd.grad_mode import no_grad
from ..autograd.hooks import RemovableHandle
from ..autograd.node import INFERENCE_TENSOR, LEAF
from ..autograd.views import counter_of
from ..ops._general import PLAIN
from ..ops.assign import copied_alike
from ._hooks import Hook, Table, add

if TYPE_CHECKING:
    from .module import Module

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """What `load_state_dict` returns: the keys that the checkpoint lacks, and those that the module lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"

    def __str__(self) -> str:
        return repr(self)


class _WithModule:
    """A load hook that is given the module, which owns it, as its first argument."""

    def __init__(self, hook: Hook, module: StateDict) -> None:
        self.hook = hook
        self.module = ref(module)

    def __call__(self, *args: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hook, self.module()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.hook, self.module = state[0], ref(state[1])


class StateDict:
    """The part of `Module` that saves and loads."""

    _version: int = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Table
    _state_dict_pre_hooks: Table
    _load_state_dict_pre_hooks: Table
    _load_state_dict_post_hooks: Table
    if TYPE_CHECKING:  # `typing.get_type_hints` finds the others
        _modules: dict[str, Module | None]

    # ---- saving -----------------------------------------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """Parameters and persistent buffers by dotted name. They share memory with the module and have no history.

        >>> import adjoint as ad
        >>> list(ad.nn.Sequential(ad.nn.Linear(2, 3)).state_dict())
        ['0.weight', '0.bias']
        """
        if args:  # the old order of positional arguments
            warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            return self.state_dict(**{"destination": destination, "prefix": prefix, "keep_vars": keep_vars, **given})
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = dict(version=self._version)
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, metadata)
            if not getattr(hook, "_from_public_api", False):
                destination = destination if replaced is None else replaced
            elif replaced is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination  # type: ignore[no-any-return]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state, without its children's, into `destination`."""
        for name, tensor in self._own_state():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _has_extra_state(self):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield name, parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield name, buffer

    def get_extra_state(self) -> Any:
        """Override to save more than parameters and buffers."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. "
            "Define get_extra_state in your module before calling it."
        )

    def set_extra_state(self, state: Any) -> None:
        """Override to load what `get_extra_state` returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. "
            "Define set_extra_state in your module before calling it."
        )

    # ---- loading ----------------------------------------------------------------------------------------------------------------

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy values into parameters and buffers by name; with `assign`, put the given tensors in their place.

        >>> import adjoint as ad
        >>> a, b = ad.nn.Linear(2, 3), ad.nn.Linear(2, 3)
        >>> a.load_state_dict(b.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                spelled(
                    f"Expected state_dict to be dict-like, got {type(state_dict)}.\n"
                    "  fix: pass what module.state_dict() returned, for example torch.load(path)"
                )
            )
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        values = OrderedDict(state_dict)
        if metadata is not None:
            values._metadata = metadata  # type: ignore[attr-defined]

        def load(module: Module, values: Mapping[str, Any], prefix: str) -> None:
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local = {**local, "assign_to_params_buffers": True}
            module._load_from_state_dict(values, prefix, local, True, missing, unexpected, errors)
            parts = _by_child(values, prefix) if module._modules else {}
            for name, child in module._modules.items():
                if child is not None:
                    load(child, parts.get(name, {}), f"{prefix}{name}.")
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                        "incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, values, "")  # type: ignore[arg-type]
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            text = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{text}{_renaming_hint(missing, unexpected)}"
            )
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own state, without its children's. What is wrong goes into the lists; nothing is raised."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own, site = dict(self._own_state()), here()
        swap = settings.get_swap_module_params_on_conversion()
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                value = state_dict[key]
                if not assign and not swap and _copied_at_once(tensor, value, site):
                    continue
                error = self._load_tensor(name, key, tensor, value, assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load_tensor(self, name: str, key: str, tensor: Tensor, value: Any, assign: bool) -> str | None:
        """Load one parameter or buffer; return what went wrong."""
        if not isinstance(value, Tensor):
            if not hasattr(value, "__torch_function__"):
                return (
                    f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
                    f"received {type(value)}"
                )
            value = wrap(np.asarray(value))
        if tensor.ndim == 0 and value.ndim == 1 and value.numel() == 1:  # scalars were once saved with one dimension
            value = value[0]
        if value.shape != tensor.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                f"the shape in current model is {tensor.shape}."
            )
        swap = settings.get_swap_module_params_on_conversion()
        if assign or swap:
            try:
                with no_grad():
                    loaded = tensor.module_load(value, assign) if swap else value
            except Exception as error:
                return _not_copied(key, tensor, value, error)
            if isinstance(tensor, Parameter) and not isinstance(loaded, Parameter):
                loaded = Parameter(loaded, requires_grad=tensor.requires_grad)
            elif isinstance(tensor, Parameter):
                loaded.requires_grad_(tensor.requires_grad)
            if swap:
                _swap(tensor, loaded, value)
            else:
                setattr(self, name, loaded)
            return None
        if tensor.is_meta and not value.is_meta:
            warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a "
                "no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the "
                "module instead of copying them in place?)"
            )
        bits = swap_bits(GRAD, 0)
        try:
            tensor.copy_(value)
        except Exception as error:
            return _not_copied(key, tensor, value, error)
        finally:
            swap_bits(GRAD, bits)
        return None

    # ---- hooks ------------------------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state of this module is collected."""
        return add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after it; the hook may change `state_dict` in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        """The same, but what the hook returns replaces the state dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        return add(self._load_state_dict_pre_hooks, _WithModule(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; the hook may change the lists of keys in place."""
        return add(self._load_state_dict_post_hooks, hook)


def _not_copied(key: str, tensor: Tensor, value: Tensor, error: Exception) -> str:
    return (
        f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.shape} and whose dimensions in '
        f"the checkpoint are {value.shape}, an exception occurred : {error.args}."
    )


def _swap(tensor: Tensor, loaded: Tensor, value: Tensor) -> None:
    from ..utils._swapping import swap_tensors

    if loaded is tensor or loaded is value:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs in module_load"
        )
    swap_tensors(tensor, loaded)


def _copied_at_once(tensor: Tensor, value: Any, site: Site) -> bool:
    """Load an ordinary tensor from one that is like it; False, and nothing is done, if there is more to think about."""
    if get_mode() > GRAD or tensor.__class__ not in PLAIN or value.__class__ not in PLAIN or tensor._vc is INFERENCE_TENSOR:
        return False
    data, given = tensor._data, value._data
    leaf = tensor._fn is None or tensor._fn is LEAF
    if not leaf or data.__class__ is not np.ndarray or given.__class__ is not np.ndarray or not copied_alike(data, given):
        return False
    counter_of(tensor).bump(site)
    return True


def _by_child(values: Mapping[str, Any], prefix: str) -> dict[str, dict[str, Any]]:
    """The values whose keys begin with a prefix, by the name of the child that follows it."""
    parts: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        if key.startswith(prefix):
            name, dot, _ = key[len(prefix) :].partition(".")
            if dot:
                parts.setdefault(name, {})[key] = value
    return parts


def _has_extra_state(module: StateDict) -> bool:
    return type(module).get_extra_state is not StateDict.get_extra_state


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _renaming_hint(missing: list[str], unexpected: list[str]) -> str:
    """Where all keys differ by one prefix, as after wrapping a module, say how to take it off or put it on."""
    if missing and len(missing) == len(unexpected):
        fixes: tuple[tuple[str, list[str], list[str], Callable[[str], str]], ...] = (
            (unexpected[0], missing, unexpected, lambda prefix: f"{{key.removeprefix({prefix!r}): value"),
            (missing[0], unexpected, missing, lambda prefix: f"{{{prefix!r} + key: value"),
        )
        for first, short, long, expression in fixes:
            prefix = first.removesuffix(short[0])
            if prefix != first and prefix and [prefix + key for key in short] == long:
                return f"\n  fix: load_state_dict({expression(prefix)} for key, value in state_dict.items()}})"
    return ""
