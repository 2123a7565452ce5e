"""What is used of PyTorch's `torch._inductor`, which makes code of graphs. Nothing is compiled here."""

from __future__ import annotations

from typing import Any

from .._standing import refused
from .._switches import switches
from ..compiler import cudagraph_mark_step_begin
from . import cpu_vec_isa as cpu_vec_isa
from . import exc as exc

__all__ = ["aot_compile", "compile", "cudagraph_mark_step_begin", "list_mode_options", "list_options"]

_TUNED = {"max_autotune": True, "coordinate_descent_tuning": True}
_GRAPHS = {"triton.cudagraphs": True}
_MODES: dict[str, dict[str, Any]] = {
    "default": {}, "reduce-overhead": _GRAPHS, "max-autotune-no-cudagraphs": _TUNED, "max-autotune": {**_TUNED, **_GRAPHS}
}  # fmt: skip

config = switches(
    __name__, allow_buffer_reuse=True, compile_threads=1, conv_1x1_as_mm=False, coordinate_descent_check_all_directions=False,
    coordinate_descent_tuning=False, cpp_wrapper=False, debug=False, emulate_precision_casts=False, epilogue_fusion=True,
    fallback_random=False, force_disable_caches=False, force_fuse_int_mm_with_mul=False, freezing=False, fx_graph_cache=True,
    max_autotune=False, max_autotune_gemm=False, shape_padding=True, use_mixed_mm=True,
)  # fmt: skip


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The options that a mode of `torch.compile` stands for in PyTorch."""
    return _MODES[mode] if mode else _MODES


def list_options() -> list[str]:
    """The names of the settings that are kept."""
    return sorted(config.get_config_copy())


@refused("adjoint compiles nothing ahead; call the model as it is")
def compile(gm: Any, example_inputs: Any, options: Any = None) -> None: ...


@refused("adjoint compiles nothing ahead; call the model as it is")
def aot_compile(gm: Any, args: Any, kwargs: Any = None, *, options: Any = None) -> None: ...
