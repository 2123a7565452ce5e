"""torchaudio's own operators (`torch.ops.torchaudio`) on NumPy arrays: loops over time, in which each sample needs the one before.

Its C++ library holds them for PyTorch; where a program asks for that library to be loaded, these are registered instead.
"""

from __future__ import annotations

from typing import Any

from ._standing import refused
from ._tensor import Tensor


def _lfilter_core_loop(input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor) -> None:
    """A recursive filter: each sample of the output is that of the input, less a weighted sum of the output's last ones."""
    samples, weights, out = (one.detach().numpy() for one in (input_signal_windows, a_coeff_flipped, padded_output_waveform))
    order = weights.shape[1]
    for time in range(samples.shape[2]):
        past = out[:, :, time : time + order - 1]
        out[:, :, time + order - 1] = samples[:, :, time] - (past * weights[:, :-1]).sum(-1)


def _overdrive_core_loop(waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Tensor) -> None:
    """A distorted signal without its slow part, mixed with the signal."""
    wave, bent, before, high, out = (one.detach().numpy() for one in (waveform, temp, last_in, last_out, output_waveform))
    for time in range(wave.shape[-1]):
        high = bent[:, time] - before + 0.995 * high
        before = bent[:, time]
        out[:, time] = wave[:, time] * 0.5 + high * 0.75


@refused("adjoint has torchaudio's filters only; write the loss with torch's own operations")
def rnnt_loss_forward(  # type: ignore[empty-body]
    logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, blank: int, clamp: float, fused_log_softmax: bool
) -> tuple[Tensor, Tensor]: ...


def cuda_version() -> int:
    """-1: there is no GPU."""
    return -1


def is_align_available() -> bool:
    """False: alignments are not here, and torchaudio says so."""
    return False


def register() -> None:
    """Make these `torch.ops.torchaudio` and `torch.ops._torchaudio`, once."""
    from . import _ops, library

    if "torchaudio::_lfilter_core_loop" in _ops.OPERATORS:
        return
    operators: dict[str, tuple[Any, tuple[str, ...]]] = {
        "torchaudio::_lfilter_core_loop": (_lfilter_core_loop, ("padded_output_waveform",)),
        "torchaudio::_overdrive_core_loop": (_overdrive_core_loop, ("output_waveform",)),
        "torchaudio::rnnt_loss_forward": (rnnt_loss_forward, ()),
        "_torchaudio::cuda_version": (cuda_version, ()),
        "_torchaudio::is_align_available": (is_align_available, ()),
    }
    for name, (function, written) in operators.items():
        library.custom_op(name, function, mutates_args=written)
