"""`ad.viz.history(...)`: what happened during training: losses, norms of gradients, and how gradients are spread by layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._tensor import Tensor
from ..nn.module import Module
from .plots import Array, Figure, Panel

BINS = 40
SHOWN = 12  # layers whose gradients are drawn


class History:
    """Numbers by step. `step` takes them down, `svg` and `save` draw them, a notebook shows them.

    >>> import adjoint as ad
    >>> history = ad.viz.history()
    >>> for value in (1.0, 0.5, 0.25):
    ...     history.step(value, accuracy=1 - value)
    >>> history["loss"], history["accuracy"]
    ([1.0, 0.5, 0.25], [0.0, 0.5, 0.75])
    """

    def __init__(self, model: Module | None = None, title: str = "") -> None:
        self.title = title
        self.model = model
        self.curves: dict[str, list[float]] = {}
        self.norms: dict[str, list[float]] = {}  # of the gradient of each layer, and of all of them as ""
        self.first: dict[str, Array] = {}  # gradients by layer at the first step: counts by power of ten
        self.last: dict[str, Array] = {}

    def step(self, loss: Any = None, **more: Any) -> None:
        """Take down numbers, and the gradients that the model has now: call it between `backward()` and `zero_grad()`."""
        for name, value in {"loss": loss, **more}.items():
            if value is not None:
                self.curves.setdefault(name, []).append(float(value.item() if isinstance(value, Tensor) else value))
        if self.model is None:
            return
        total = 0.0
        for name, gradients in by_layer(self.model).items():
            square = float(sum(np.square(g, dtype=np.float64).sum() for g in gradients))
            total += square
            self.norms.setdefault(name, []).append(math.sqrt(square))
            self.last[name] = counts = spread(gradients)
            self.first.setdefault(name, counts)
        self.norms.setdefault("", []).append(math.sqrt(total))

    def __getitem__(self, name: str) -> list[float]:
        return self.curves[name]

    def figure(self, log: bool | None = None, *, columns: int = 1) -> Figure:
        """Draw it; further panels can be added. `log`: whether losses are drawn by powers of ten; by itself, where they span many."""
        figure = Figure(self.title, columns=columns, width=680.0 if columns == 1 else 460.0 * columns)
        groups = [[name for name in self.curves if "loss" in name], [name for name in self.curves if "loss" not in name]]
        for names in filter(None, groups):
            add_curves(figure, {name: self.curves[name] for name in names}, log)
        if self.norms:
            layers = sorted((name for name in self.norms if name), key=lambda name: -self.norms[name][-1])
            panel = figure.panel("Norm of the gradient", x="step", y="norm", log=log is not False)
            panel.line(range(1, len(self.norms[""]) + 1), self.norms[""], "all")
            for name in layers[:3] if len(layers) > 1 else []:
                panel.line(range(len(self.norms[""]) - len(self.norms[name]) + 1, len(self.norms[""]) + 1), self.norms[name], name)
        if self.last:
            add_spread(figure, self.first, self.last)
        return figure

    def svg(self, log: bool | None = None) -> str:
        return self.figure(log).svg()

    def save(self, path: Any, log: bool | None = None) -> Path:
        """Write the figure as .svg, or as .png with the package cairosvg."""
        return self.figure(log).save(path)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        lasts = ", ".join(f"{name} {values[0]:.4g} → {values[-1]:.4g}" for name, values in self.curves.items())
        return f"<History of {max(map(len, self.curves.values()), default=0)} steps: {lasts or 'nothing yet'}>"


def history(source: Any = None, *, title: str = "", **curves: Any) -> History:
    """Follow a training, or draw numbers that are there already.

    `history(model)` takes down gradients too, each time `step(loss)` is called; `history()` only what `step` is given;
    `history({"train loss": [...], "test loss": [...]})` and `history(loss=[...])` draw lists.
    """
    if isinstance(source, Module):
        found = History(source, title)
    elif source is None or isinstance(source, Mapping):
        found = History(None, title)
        curves = {**(source or {}), **curves}
    elif isinstance(source, list | tuple | np.ndarray | Tensor):
        found = History(None, title)
        curves = {"loss": source, **curves}
    else:
        raise TypeError(f"history() takes a module, or numbers by name, not {type(source).__name__}\n  fix: ad.viz.history(loss=losses)")
    for name, values in curves.items():
        found.curves[name] = [float(value.item() if isinstance(value, Tensor) else value) for value in values]
    return found


def add_curves(figure: Figure, curves: dict[str, list[float]], log: bool | None) -> Panel:
    values = [value for curve in curves.values() for value in curve if math.isfinite(value)]
    if log is None:
        log = bool(values) and min(values) > 0 and max(values) / min(values) > 30
    single = next(iter(curves)) if len(curves) == 1 else ""
    panel = figure.panel((single or ", ".join(curves)).capitalize(), x="step", log=log)
    for name, curve in curves.items():
        panel.line(range(1, len(curve) + 1), curve, "" if single else name)
    return panel


def by_layer(model: Module) -> dict[str, list[Array]]:
    """The gradients of the parameters of each module that has some."""
    layers: dict[str, list[Array]] = {}
    for name, parameter in model.named_parameters():
        gradient = parameter.grad
        if gradient is not None and isinstance(gradient._data, np.ndarray):
            layers.setdefault(name.rpartition(".")[0] or name, []).append(gradient._data)
    return layers


LOW, HIGH = -10.0, 3.0  # powers of ten between which gradients are counted; what is beyond counts at the ends


def spread(gradients: list[Array]) -> Array:
    """How many gradients there are by the power of ten of their size; zeros are left out."""
    total = np.zeros(BINS)
    for gradient in gradients:
        sizes = np.abs(gradient[np.isfinite(gradient) & (gradient != 0)]).astype(np.float64)
        powers = np.clip(np.log10(sizes), LOW, HIGH - 1e-9)
        total += np.histogram(powers, BINS, (LOW, HIGH))[0]
    return total


def add_spread(figure: Figure, first: dict[str, Array], last: dict[str, Array]) -> None:
    """One ridge per layer: how large its gradients are now, and (dashed) at the first step."""
    names = list(last)[:SHOWN]
    panel = figure.panel("Sizes of gradients by layer", x="power of ten", height=92 + 34.0 * len(names))
    centres = LOW + (np.arange(BINS) + 0.5) * (HIGH - LOW) / BINS
    heights = [counts[name] / max(1.0, counts[name].max()) for name in names for counts in (first, last)]
    used = np.nonzero(np.max(heights, axis=0) > 0.01)[0]
    keep = slice(max(0, used[0] - 1), used[-1] + 2) if used.size else slice(None)
    for place, name in enumerate(names):
        row = float(len(names) - 1 - place)
        for counts, colour in ((first[name], 1), (last[name], 0)):
            label = ("first step", "last step")[colour == 0] if place == 0 else ""
            panel.line(centres[keep], row + 0.85 * counts[keep] / max(1.0, counts.max()), label, smooth=False, colour=colour)
    panel.rows = [name if len(name) < 9 else f"…{name[-7:]}" for name in reversed(names)]
