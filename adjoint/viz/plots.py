"""Small plots as SVG: lines, points, bars and pictures on axes with round numbers. No dependency, light and dark.

figure = ad.viz.Figure("Training")
panel = figure.panel("Loss", x="step", y="loss", log=True)
panel.line(steps, losses, "training")
figure.save("training.svg")
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .._tensor import Tensor
from .svg import DARK, LIGHT

Array = np.ndarray[Any, Any]

# Told apart by the colour-blind (after Okabe and Ito, darker on light paper, lighter on dark), and each with a dash of its own.
COLOURS = (
    ("#0a5ea3", "#74b8f5"), ("#ad4600", "#ff9f5f"), ("#066a4c", "#57c79e"), ("#84377a", "#e3a0d2"), ("#7a6200", "#e0c341"),
    ("#434b57", "#c0c8d3"),
)  # fmt: skip
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 2", "1 3")
SANS = 'Inter,"Helvetica Neue",system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif'
# From low to high; the first two get lighter all the way, so that they can be read without colour. The last has its middle at zero.
PALETTES = {
    "sea": ((20, 24, 60), (22, 96, 130), (70, 170, 150), (250, 240, 170)),
    "grey": ((16, 18, 22), (250, 250, 248)),
    "tides": ((84, 148, 206), (172, 208, 234), (250, 249, 246), (246, 196, 160), (218, 132, 80)),
}
LEFT, RIGHT, TOP, BOTTOM = 58.0, 16.0, 40.0, 42.0
MANY = 400  # points of a line from which on it is smoothed


def as_array(values: Any) -> Array:
    """Numbers of a tensor, an array or a sequence."""
    if isinstance(values, Tensor):
        values = values.detach().numpy()
    elif isinstance(values, Sequence):
        values = [value.item() if isinstance(value, Tensor) else value for value in values]
    return np.asarray(values, np.float64)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten.

    >>> ticks(0.0, 0.93)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between the two (thinned out), or also 2 and 5 times them where there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / 6))
    tens = [10.0**power for power in range(first, last + 1, step)]
    inside = [value for value in tens if low * 0.999 <= value <= high * 1.001]
    if len(inside) >= 3:
        return inside
    finer = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
    return [value for value in finer if low * 0.999 <= value <= high * 1.001]


def number(value: float) -> str:
    """A tick's text: short, and never in a form that has to be deciphered."""
    if value == 0:
        return "0"
    size = abs(value)
    if 1e-3 <= size < 1e5:
        return (f"{value:.10g}" if size < 1e4 else f"{value / 1000:.10g}k").replace("-", "−")
    power = math.floor(math.log10(size) + 1e-9)
    factor = value / 10.0**power
    raised = "".join("⁻" if c == "-" else "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(power))
    return f"10{raised}" if abs(factor - 1) < 1e-6 else f"{factor:.3g}·10{raised}"


def smoothed(values: Array, window: int) -> Array:
    """A moving average that looks as far back as forward, and less far near the ends."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    reach = np.minimum(np.minimum(at, len(values) - 1 - at), window // 2)
    smooth: Array = (sums[at + reach + 1] - sums[at - reach]) / (2 * reach + 1)
    return smooth


class Panel:
    """One pair of axes. What is drawn later lies above what was drawn before."""

    def __init__(self, title: str, x: str, y: str, *, log: bool, equal: bool, axes: bool, width: float, height: float) -> None:
        self.title, self.x, self.y = title, x, y
        self.log = log
        self.equal = equal
        self.axes = axes
        self.width, self.height = width, height
        self.marks: list[tuple[str, Array, Array, dict[str, Any]]] = []
        self.rows: list[str] = []  # names on the y axis in the place of numbers

    def line(self, x: Any, y: Any, label: str = "", *, smooth: bool | None = None, colour: int | None = None) -> Panel:
        """Connect points. A long line is drawn faintly, with its moving average over it, unless `smooth` is False."""
        return self._add("line", x, y, label=label, smooth=smooth, colour=colour)

    def points(self, x: Any, y: Any, label: str = "", *, size: float = 2.6, colour: int | None = None) -> Panel:
        return self._add("points", x, y, label=label, size=size, colour=colour)

    def bars(self, x: Any, y: Any, label: str = "", *, colour: int | None = None) -> Panel:
        return self._add("bars", x, y, label=label, colour=colour)

    def image(self, values: Any, extent: tuple[float, float, float, float], *, palette: str = "sea") -> Panel:
        """Colour a rectangle (left, right, bottom, top); the first row of `values` is at the top."""
        if palette not in PALETTES:
            raise ValueError(f"there is no palette '{palette}': choose {', '.join(PALETTES)}")
        left, right, bottom, top = extent
        return self._add("image", [left, right], [bottom, top], values=as_array(values), palette=palette, label="", colour=None)

    def _add(self, kind: str, x: Any, y: Any, **more: Any) -> Panel:
        xs, ys = as_array(x), as_array(y)
        if xs.shape != ys.shape or xs.ndim != 1:
            raise ValueError(f"x and y are lists of the same length, got shapes {xs.shape} and {ys.shape}")
        if more["colour"] is None:
            more["colour"] = sum(mark[0] != "image" for mark in self.marks)
        self.marks.append((kind, xs, ys, more))
        return self

    # ---- drawing ---------------------------------------------------------------------------------------------------------------

    def _range(self, which: int) -> tuple[float, float]:
        values = np.concatenate([mark[1 + which] for mark in self.marks] or [np.zeros(1)])
        log = self.log and which == 1
        values = values[np.isfinite(values) & ((values > 0) | (not log))]
        if not values.size:
            return (1.0, 10.0) if log else (0.0, 1.0)
        low, high = float(values.min()), float(values.max())
        if any(mark[0] == "bars" for mark in self.marks):
            if which == 0:
                half = (
                    min((float(np.diff(mark[1]).min()) for mark in self.marks if mark[0] == "bars" and len(mark[1]) > 1), default=1.0) / 2
                )
                return low - half, high + half
            low = min(low, 0.0)
        if low == high:
            return (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        if any(mark[0] == "image" for mark in self.marks) or (which == 0 and all(mark[0] == "line" for mark in self.marks)):
            return low, high
        if log:
            return low / 1.15, high * 1.15
        space = 0.05 * (high - low)
        return (low if low == 0 else low - space), high + space

    def svg(self, left: float, top: float) -> str:
        """The panel with its left upper corner at a point of the figure."""
        legend, head = self._legend(left, top)
        x0, y0 = left + LEFT, top + head
        width, height = self.width - LEFT - RIGHT, self.height - head - BOTTOM
        (low, high), (bottom, up) = self._range(0), self._range(1)
        if self.equal:
            scale = min(width / (high - low), height / (up - bottom))
            x0 += (width - scale * (high - low)) / 2
            y0 += (height - scale * (up - bottom)) / 2
            width, height = scale * (high - low), scale * (up - bottom)

        def at_x(value: Array | float) -> Any:
            return x0 + (value - low) / (high - low) * width

        def at_y(value: Array | float) -> Any:
            if self.log:
                with np.errstate(divide="ignore", invalid="ignore"):
                    share: Any = (np.log10(value) - math.log10(bottom)) / (math.log10(up) - math.log10(bottom))
            else:
                share = (value - bottom) / (up - bottom)
            return y0 + height * (1 - share)

        parts = [f'<text class="pt" x="{left + LEFT:.0f}" y="{top + 18:.0f}">{escape(self.title)}</text>', legend]
        marks_y = [] if self.rows or not self.axes else log_ticks(bottom, up) if self.log else ticks(bottom, up, 4 if height < 160 else 5)
        for value in marks_y:
            y = float(at_y(value))
            parts.append(f'<path class="gr" d="M{x0:.1f} {y:.1f}h{width:.1f}"/>')
            parts.append(f'<text class="ti e" x="{x0 - 8:.1f}" y="{y + 3.8:.1f}">{number(value)}</text>')
        for row, name in enumerate(self.rows):
            y = float(at_y(float(row)))
            parts.append(f'<path class="gr" d="M{x0:.1f} {y:.1f}h{width:.1f}"/>')
            parts.append(f'<text class="ti e" x="{x0 - 8:.1f}" y="{y + 1:.1f}">{escape(name)}</text>')
        for value in ticks(low, high, max(2, int(width / 90))) if self.axes else ():
            x = float(at_x(value))
            parts.append(f'<path class="ax" d="M{x:.1f} {y0 + height:.1f}v4"/>')
            parts.append(f'<text class="ti m" x="{x:.1f}" y="{y0 + height + 17:.1f}">{number(value)}</text>')
        if self.axes:
            parts.append(f'<path class="ax" d="M{x0:.1f} {y0 + height:.1f}h{width:.1f}"/>')
        if self.x:
            parts.append(
                f'<text class="la m" x="{x0 + width / 2:.1f}" y="{y0 + height + (34 if self.axes else 18):.1f}">{escape(self.x)}</text>'
            )
        if self.y:
            middle = y0 + height / 2
            x = x0 - 44 if self.axes else x0 - 12
            place = f'transform="rotate(-90 {x:.1f} {middle:.1f})" x="{x:.1f}" y="{middle:.1f}"'
            parts.append(f'<text class="la m" {place}>{escape(self.y)}</text>')
        box = f'x="{x0:.1f}" y="{y0 - 3:.1f}" width="{width:.1f}" height="{height + 6:.1f}"'
        parts.append(f"<svg {box} viewBox={box_of(x0, y0 - 3, width, height + 6)}>")  # what lies outside the axes is cut off
        parts += [self._mark(mark, at_x, at_y) for mark in self.marks]
        return "".join(parts) + "</svg>"

    def _legend(self, left: float, top: float) -> tuple[str, float]:
        """Say what the marks are: beside the title where there is room, or else below it; return also where the axes begin."""
        named = [(kind, more) for kind, _, _, more in self.marks if more["label"]]
        lengths = [6.6 * len(more["label"]) + 42 for _, more in named]
        below = named and 7.6 * len(self.title) + 20 + sum(lengths) > self.width - LEFT - RIGHT
        y = top + (38 if below else 18)
        x = left + LEFT if below else left + self.width - RIGHT - sum(lengths) + 12
        parts = []
        for (kind, more), length in zip(named, lengths, strict=True):
            colour = more["colour"] % len(COLOURS)
            dash = f' stroke-dasharray="{DASHES[colour]}"' if DASHES[colour] else ""
            if kind == "line":
                parts.append(f'<path class="l c{colour}" d="M{x:.1f} {y - 4:.1f}h20"{dash}/>')
            else:
                parts.append(f'<circle class="f{colour}" cx="{x + 14:.1f}" cy="{y - 4:.1f}" r="3.5"/>')
            parts.append(f'<text class="ti" x="{x + 25:.1f}" y="{y:.1f}">{escape(more["label"])}</text>')
            x += length
        return "".join(parts), TOP + 16 if below else TOP

    def _mark(self, mark: tuple[str, Array, Array, dict[str, Any]], at_x: Any, at_y: Any) -> str:
        kind, xs, ys, more = mark
        if kind == "image":
            left, right, y, under = float(at_x(xs[0])), float(at_x(xs[1])), float(at_y(ys[1])), float(at_y(ys[0]))
            data = b64encode(coloured(more["values"], more["palette"])).decode()
            size = f'x="{left:.1f}" y="{y:.1f}" width="{right - left:.1f}" height="{under - y:.1f}"'
            return f'<image {size} preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
        colour = more["colour"] % len(COLOURS)
        x, y = at_x(xs), at_y(ys)
        if kind == "points":
            keep = np.isfinite(x) & np.isfinite(y)
            halo = any(one[0] == "image" for one in self.marks)
            dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x[keep], y[keep], strict=True))
            size = 2 * more["size"]
            around = f'<path class="ha" d="{dots}" stroke-width="{size + 1.6:g}" stroke-linecap="round"/>' if halo else ""
            shade = "" if halo else ' opacity=".75"'
            return f'{around}<path class="c{colour}" d="{dots}" stroke-width="{size:g}" stroke-linecap="round"{shade}/>'
        if kind == "bars":
            base = float(at_y(0.0))
            wide = 0.8 * float(np.diff(x).min()) if len(x) > 1 else 20.0
            return "".join(
                f'<rect class="f{colour}" x="{a - wide / 2:.1f}" y="{min(b, base):.1f}" width="{wide:.1f}" height="{abs(base - b):.1f}"/>'
                for a, b in zip(x, y, strict=True)
            )
        smooth = len(ys) >= MANY if more["smooth"] is None else more["smooth"]
        dash = f' stroke-dasharray="{DASHES[colour]}"' if DASHES[colour] else ""
        if not smooth:
            halo = any(one[0] == "image" for one in self.marks)
            around = f'<path class="l ha" d="{path(x, y)}" style="stroke-width:4.5px"/>' if halo else ""
            return f'{around}<path class="l c{colour}" d="{path(x, y)}"{dash}/>'
        finite = ys[np.isfinite(ys)]
        calm = at_y(smoothed(finite, max(5, len(ys) // 40)))
        first = next(one for one in self.marks if one[0] == "line")[3] is more  # behind several, the noise of each would hide the others
        faint = f'<path class="l c{colour}" d="{path(x, y)}" opacity=".28" stroke-width="1"/>' if first else ""
        return faint + f'<path class="l c{colour}" d="{path(x[np.isfinite(ys)], calm)}"{dash}/>'


def box_of(x: float, y: float, width: float, height: float) -> str:
    return f'"{x:.1f} {y:.1f} {width:.1f} {height:.1f}"'


def path(x: Array, y: Array) -> str:
    """The path of a line, broken where a number is missing; of many points, no more than can be told apart."""
    if len(x) > 2000:  # the lowest and the highest of each group keep every peak
        groups = np.array_split(np.arange(len(x)), 700)
        nan = np.where(np.isfinite(y), y, 0.0)
        keep = np.unique([i for group in groups for i in (group[nan[group].argmin()], group[nan[group].argmax()])])
        x, y = x[keep], y[keep]
    text, pen = [], "M"
    for a, b in zip(x, y, strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            pen = "M"
            continue
        text.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L"
    return "".join(text)


def coloured(values: Array, palette: str) -> bytes:
    """The PNG file of an array of numbers (or, with a third axis, of colours from 0 to 1)."""
    from ..utils.tensorboard._images import png

    if values.ndim == 3:
        return png(np.clip(values * 255, 0, 255).astype(np.uint8))
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if palette == "tides":
        high = max(abs(low), abs(high))
        low = -high
    share = np.nan_to_num((values - low) / ((high - low) or 1.0))
    stops = np.asarray(PALETTES[palette], np.float64)
    at = np.linspace(0, 1, len(stops))
    channels = [np.interp(share, at, stops[:, channel]) for channel in range(3)]
    return png(np.stack(channels, axis=-1).astype(np.uint8))


class Figure:
    """Panels in rows of `columns`, as one SVG. In a notebook it shows itself."""

    def __init__(self, title: str = "", *, columns: int = 1, width: float = 680.0) -> None:
        self.title = title
        self.columns = columns
        self.width = width
        self.panels: list[Panel] = []

    def panel(
        self,
        title: str = "",
        *,
        x: str = "",
        y: str = "",
        log: bool = False,
        equal: bool = False,
        axes: bool = True,
        height: float | None = None,
    ) -> Panel:
        """Add a place to draw. `log`: y counts powers of ten. `equal`: x and y have the same scale. `axes`: whether numbers are shown."""
        width = self.width / self.columns
        tall = (min(0.85 * width, 460.0) if equal else 260.0) if height is None else height
        self.panels.append(Panel(title, x, y, log=log, equal=equal, axes=axes, width=width, height=tall))
        return self.panels[-1]

    def svg(self) -> str:
        top = 34.0 if self.title else 8.0
        parts, head = [], top
        for start in range(0, len(self.panels), self.columns):
            row = self.panels[start : start + self.columns]
            for panel in row:  # neighbours stand on one line
                panel.height = max(one.height for one in row)
            parts += [panel.svg(i * self.width / self.columns, top) for i, panel in enumerate(row)]
            top += max(panel.height for panel in row)
        title = f'<text class="ft" x="{LEFT:.0f}" y="{head - 8:.0f}">{escape(self.title)}</text>' if self.title else ""
        names = "; ".join(panel.title or panel.y for panel in self.panels)
        size = f'width="{self.width:.0f}" height="{top + 6:.0f}" viewBox="0 0 {self.width:.0f} {top + 6:.0f}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="adp" {size} role="img"><title>{escape(self.title or names)}</title>'
            f"<desc>{escape(names)}</desc><style>{STYLE}</style>"
            f'<rect class="bg" width="{self.width:.0f}" height="{top + 6:.0f}"/>{title}{"".join(parts)}</svg>'
        )

    def save(self, path: Any) -> Path:
        """Write the figure as .svg, or as .png with the package cairosvg."""
        from .graphs import png

        target = Path(path)
        if target.suffix.lower() == ".png":
            target.write_bytes(png(self.svg()))
        elif target.suffix.lower() == ".svg":
            target.write_text(self.svg(), encoding="utf-8")
        else:
            raise ValueError(f"a figure is saved as .svg or .png, not as '{target.name}'\n  fix: figure.save('figure.svg')")
        return target

    def _repr_svg_(self) -> str:
        return self.svg()


def theme(place: int) -> str:
    names = (LIGHT, DARK)[place]
    rules = "".join(f".adp .c{i}{{stroke:{pair[place]};fill:none}}.adp .f{i}{{fill:{pair[place]}}}" for i, pair in enumerate(COLOURS))
    return (
        f".adp .bg{{fill:{names['paper']}}}.adp text{{fill:{names['soft']}}}.adp .ft,.adp .pt{{fill:{names['ink']}}}"
        f".adp .ha{{fill:none;stroke:{names['paper']}}}.adp .gr{{stroke:{names['rule']}}}.adp .ax{{stroke:{names['line']}}}{rules}"
    )


STYLE = (
    f".adp text{{font-family:{SANS};font-size:11.5px}}.adp .ft{{font-size:16px;font-weight:640}}.adp .pt{{font-size:13px;font-weight:620}}"
    ".adp .e{text-anchor:end}.adp .m{text-anchor:middle}.adp .gr,.adp .ax{fill:none;stroke-width:1}.adp .gr{opacity:.55}"
    ".adp .l{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    f"{theme(0)}@media(prefers-color-scheme:dark){{{theme(1)}}}@media print{{{theme(0)}.adp .bg{{fill:#fff}}}}"
)
