"""Fourier transforms of short pieces of a signal (`stft`, `istft`), and the older names of window functions."""

from __future__ import annotations

from typing import Any

from . import fft
from ._creation import ones
from ._dtype import default_numpy, float32, from_numpy_dtype
from ._errors import spelled
from .nn.functional import fold, pad
from .ops._deprecation import warn_once
from .ops._generated import pass_options
from .ops._out import into
from .ops._registry import FUNCTIONS
from .ops._rules import holds
from .signal import windows

# ---- short-time Fourier transforms --------------------------------------------------------------------------------------------------


def _padded_window(name: str, window: Any, n_fft: int, win_length: int, like: Any) -> Any:
    """The window in the middle of `n_fft` points; ones if none is given."""
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and (window.ndim != 1 or window.shape[0] != win_length):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size {list(window.shape)}"
        )
    window = ones(win_length, dtype=like.real.dtype, device=like.device) if window is None else window
    left = (n_fft - win_length) // 2
    return pad(window, (left, n_fft - win_length - left))


def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None, center: bool = True,
    pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """The Fourier transforms of the pieces of a signal under a moving window: frequencies by times, for each signal of a batch."""
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"stft: expected a tensor of floating point or complex values, but got dtype {input.dtype}")
    if not 1 <= input.ndim <= 2:
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {input.ndim}D tensor")
    if return_complex is None:
        if not (input.is_complex() or (window is not None and window.is_complex())):
            raise RuntimeError(
                spelled(
                    "stft requires the return_complex parameter be given for real inputs, and will further require that "
                    "return_complex=True in a future PyTorch release.\n  fix: torch.stft(..., return_complex=True)"
                )
            )
        return_complex = True
    hop = n_fft // 4 if hop_length is None else hop_length
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    batch = input if input.ndim == 2 else input.unsqueeze(0)
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        batch = pad(batch.unsqueeze(1), (n_fft // 2, n_fft // 2), mode=pad_mode).squeeze(1)
    elif align_to_window and win_length is not None and win_length < n_fft:
        before = (n_fft - win_length) // 2
        batch = pad(batch, (before, n_fft - win_length - before))
    if not 0 < n_fft <= batch.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {batch.shape[-1]}, but got n_fft={n_fft}")
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other windows such "
            "as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress this warning and use a "
            "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
        )
    window = _padded_window("stft", window, n_fft, n_fft if win_length is None else win_length, input)
    frames = batch.unfold(-1, n_fft, hop) * window
    if onesided is None:
        onesided = not frames.is_complex()
    if onesided and frames.is_complex():
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    transform = fft.rfft if onesided else fft.fft
    result = transform(frames, norm="ortho" if normalized else None).transpose(-1, -2)
    result = result if input.ndim == 2 else result.squeeze(0)
    return result if return_complex else FUNCTIONS["view_as_real"](result)


def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None, center: bool = True,
    normalized: bool = False, onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> Any:  # fmt: skip
    """The signal of which `stft` gives these transforms: the pieces are added up, and divided by what the windows add up to."""
    if not input.is_complex():
        raise RuntimeError(
            spelled(
                "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.\n"
                "  fix: torch.view_as_complex(x)"
            )
        )
    if input.ndim not in (2, 3) or not input.numel():
        raise RuntimeError(f"istft: expected a non-empty tensor with 2 or 3 dimensions, but got {list(input.shape)}")
    hop = n_fft // 4 if hop_length is None else hop_length
    count, times = input.shape[-2:]
    if onesided is None:
        onesided = count != n_fft
    if count != (n_fft // 2 + 1 if onesided else n_fft):
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft {'/ 2 + 1 ' if onesided else ''}"
            f"when onesided={onesided}, but got {count}"
        )
    if onesided and return_complex:
        raise RuntimeError("cannot have onesided output if window or input is complex")
    window = _padded_window("istft", window, n_fft, n_fft if win_length is None else win_length, input)
    batch = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(-1, -2)
    norm = "ortho" if normalized else None
    pieces = fft.ifft(batch, norm=norm) if return_complex else fft.irfft(batch[..., : n_fft // 2 + 1], n_fft, norm=norm)
    total = n_fft + hop * (times - 1)
    signal = _overlapped(pieces * window, total, hop)
    envelope = _overlapped((window * window).expand(1, times, n_fft), total, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal, envelope = signal[..., start:end], envelope[..., start:end]
    if holds(envelope.abs().min() <= 1e-11):
        raise RuntimeError("window overlap add min: 1, so that the window cannot be divided out: choose one without gaps")
    signal = signal / envelope
    if length is not None and signal.shape[-1] < length:
        signal = pad(signal, (0, length - signal.shape[-1]))
    return signal if input.ndim == 3 else signal.squeeze(0)


def _overlapped(pieces: Any, total: int, hop: int) -> Any:
    """Pieces (batch, time, point) added up, `hop` points apart."""
    columns = pieces.transpose(-1, -2)
    if pieces.is_complex():
        real, imaginary = _overlapped(pieces.real, total, hop), _overlapped(pieces.imag, total, hop)
        return FUNCTIONS["complex"](real, imaginary)
    return fold(columns, (1, total), (1, pieces.shape[-1]), stride=(1, hop)).reshape(pieces.shape[0], total)


# ---- windows ------------------------------------------------------------------------------------------------------------------------


def _made(
    name: str, make: Any, window_length: int, periodic: bool, shape: dict[str, Any], *, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Any:  # fmt: skip
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    if pin_memory:
        raise RuntimeError("Cannot access accelerator device when none is available; leave pin_memory away")
    dtype = dtype or from_numpy_dtype(default_numpy())
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    computed = float32 if dtype.itemsize < 4 else dtype
    made = make(window_length, sym=not periodic, dtype=computed, layout=layout, device=device, **shape).to(dtype)
    return into(out, made.requires_grad_(requires_grad))


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """A triangle."""
    return _made("bartlett_window", windows.bartlett, window_length, periodic, {}, **options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """Blackman's three cosines."""
    return _made("blackman_window", windows.blackman, window_length, periodic, {}, **options)


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Any:
    """`0.5 - 0.5 cos(x)`, over one period."""
    return _made("hann_window", windows.hann, window_length, periodic, {}, **options)


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any) -> Any:
    """`alpha - beta cos(x)`, over one period."""
    return _made("hamming_window", windows.general_cosine, window_length, periodic, {"a": (alpha, beta)}, **options)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Any:
    """Kaiser's window, made of Bessel functions; `beta` says how narrow it is."""
    return _made("kaiser_window", windows.kaiser, window_length, periodic, {"beta": beta}, **options)


pass_options(_made, bartlett_window, blackman_window, hann_window, hamming_window, kaiser_window)
