"""Where PyTorch keeps what adjoint keeps in another file."""

from __future__ import annotations

from ..nn._files import FILES

# Files that PyTorch does not have: what is in them belongs to who publishes it. So it is with those whose names begin with an underscore,
# but for a few that PyTorch has as well.
_PYTORCHS = (
    "_C", "__config__", "__future__", "_custom_ops", "_dynamo", "_higher_order_ops", "_inductor", "_jit_internal", "_lobpcg", "_lowrank",
    "_ops", "_subclasses", "_tensor_str", "_utils", "_vmap_internals", "distributed._composable", "distributed._functional_collectives",
    "distributed._tensor", "fx._compatibility", "fx._pytree", "fx._symbolic_trace", "nn._reduction", "utils._contextlib",
    "utils._cxx_pytree", "utils._device", "utils._foreach_utils", "utils._python_dispatch", "utils._pytree", "utils.data._utils",
)  # fmt: skip
_INTERNAL = {
    "autograd": (
        "accumulate", "anomaly", "causes", "diagnosis", "differences", "differentiate", "engine", "hooks", "node", "nonfinite", "packed",
        "regions", "saved", "stepping", "taken", "together", "views", "warnings",
    ),
    "nn": tuple(sorted({source for sources in FILES.values() for source in sources})),
    "optim": ("adafactor", "muon"),
    "utils": ("checkpoint_policies",),
}  # fmt: skip
_INTERNAL_FILES = {f"adjoint.{package}.{file}" for package, files in _INTERNAL.items() for file in files}

# Names that are published by several modules, or by another than PyTorch's.
_ELSEWHERE = {
    "adjoint._sampling.Generator": "torch._C",
    "adjoint.autograd.differences.GradcheckError": "torch.autograd.gradcheck",
    "adjoint.autograd.differentiate.GradientEdge": "torch.autograd.graph",
    "adjoint.autograd.hooks.RemovableHandle": "torch.utils.hooks",
    "adjoint.autograd.node.Node": "torch.autograd.graph",
    "adjoint.autograd.packed.saved_tensors_hooks": "torch.autograd.graph",
    "adjoint._tensor.Parameter": "torch.nn.parameter",
    "adjoint._untyped_storage._load_from_bytes": "torch.storage",
}

# What only adjoint has keeps its names.
_OWN_BUSINESS = ("_kernels", "_place", "_reference", "as_torch", "cli", "debug", "io", "lab", "learn", "viz")

# Of a file of ours that serves for several of PyTorch's: which parts of names belong where.
_PARTS = {
    "BatchNorm": "batchnorm", "InstanceNorm": "instancenorm", "Linear": "linear", "Conv": "conv", "Pad": "padding", "Pixel": "pixelshuffle",
    "ChannelShuffle": "channelshuffle", "old": "fold",
}  # fmt: skip


def is_own_business(module: str) -> bool:
    return module.partition(".")[2].partition(".")[0] in _OWN_BUSINESS


def is_internal(module: str) -> bool:
    """Whether PyTorch has no such file."""
    below = module.removeprefix("adjoint.")
    if module in _INTERNAL_FILES or below.partition(".")[0] == "ops":
        return True
    return "_" in (part[:1] for part in below.split(".")) and not f"{below}.".startswith(tuple(f"{name}." for name in _PYTORCHS))


def other_home(module: str, name: str) -> str | None:
    return _ELSEWHERE.get(f"{module}.{name}")


def layer_file(module: str, name: str) -> str | None:
    """PyTorch's file in `nn.modules` for a class of `nn`."""
    source = module.removeprefix("adjoint.nn.")
    files = [file for file, sources in FILES.items() if source in sources and source != module]
    if len(files) > 1:
        named = [file for part, file in _PARTS.items() if part in name and file in files]
        files = [*named, source]
    return files[0] if files else None
