"""The table in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .result import Cost, Line

SORTS = ("source", "total", "forward", "backward", "optimizer", "calls", "kept", "peak")
WORTH_SHOWING = 0.001  # lines with less of the time, and of what is kept, are counted together
MARKS = " ▁▂▃▄▅▆▇█"


def seconds(value: float) -> str:
    """
    >>> seconds(1e-7), seconds(0.0000123), seconds(0.0123), seconds(123.4)
    ('', '12.3 µs', '12.3 ms', '123 s')
    """
    return next((f"{value / size:.3g} {unit}" for size, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")) if value >= 0.9995 * size), "")


def size(value: float) -> str:
    """
    >>> size(0), size(1000), size(2**20 * 1.5)
    ('', '1000 B', '1.5 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.4g} {unit}" if value else ""
        value /= 1024
    raise AssertionError


def percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.0005 else ""


def heat(share: float, width: int = 4) -> str:
    """A bar, full for half of the time or more.

    >>> heat(0.25), heat(0.01)
    ('██  ', '▁   ')
    """
    eighths = min(8 * width, max(round(16 * width * share), share >= WORTH_SHOWING))
    return "█" * (eighths // 8) + MARKS[eighths % 8].strip() + " " * (width - (eighths + 7) // 8)


def chosen(cost: Cost, top: int | None, sort: str) -> list[Line]:
    """The lines to show."""
    if sort not in SORTS:
        raise ValueError(f"sort is {sort!r}\n  fix: use one of {', '.join(SORTS)}")
    if sort == "peak" and not cost.with_peaks:
        raise ValueError("sort is 'peak', and peaks were not measured\n  fix: measure with lines(memory=True)")
    if top is not None and top < 1:
        raise ValueError(f"top is {top}\n  fix: how many lines to show, 1 or more")
    key = "total" if sort == "source" else sort
    ranked = sorted(cost.lines, key=lambda line: (-getattr(line, key), line.filename, line.number))
    if top is None:
        most = max((line.kept for line in cost.lines), default=0)
        ranked = [line for line in ranked if line.share >= WORTH_SHOWING or line.kept > WORTH_SHOWING * most or line.elsewhere]
    kept = ranked[:top]
    return sorted(kept, key=lambda line: (line.filename, line.number)) if sort == "source" else kept


def table(cost: Cost, top: int | None = None, sort: str = "source") -> str:
    shown = chosen(cost, top, sort)
    titles = ["line", "heat", "share", "calls", "forward", "backward", "optimizer", "kept", *(["peak"] if cost.with_peaks else [])]
    rows = [cells(line, by_file=sort == "source", with_peak=cost.with_peaks) for line in shown]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]

    def laid_out(row: list[str], source: str = "") -> str:
        return ("  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) + "  " + source).rstrip()

    out = [laid_out(titles)]
    file = ""
    for line, row in zip(shown, rows, strict=True):
        if sort == "source" and line.filename != file:
            file = line.filename
            out += ["", line.file]
        out.append(laid_out(row, line.text))
    out.append("")
    if left := len(cost.lines) - len(shown):
        rest = sum(line.total for line in cost.lines) - sum(line.total for line in shown)
        out.append(f"{left} more lines: {seconds(rest) or '0 s'}")
    parts = [f"{seconds(part)} {name}" for name, part in totals(cost).items() if seconds(part)]
    parts.append(f"{seconds(cost.overhead) or '0 s'} for measuring")
    out.append(f"{seconds(cost.wall) or '0 s'} in all: {', '.join(parts)}")
    if any(line.elsewhere and not line.backward for line in shown):
        out.append("In brackets: spent in a backward pass, and counted where what ran was recorded.")
    return "\n".join(out)


def cells(line: Line, by_file: bool, with_peak: bool) -> list[str]:
    name = "-" if not line.number else str(line.number) if by_file else line.where
    inside = seconds(line.elsewhere)
    backward = seconds(line.backward) or (f"({inside})" if inside else "")
    times = [percent(line.share), str(line.calls or ""), seconds(line.forward), backward, seconds(line.optimizer)]
    return [name, heat(line.share), *times, size(line.kept), *([size(line.peak)] if with_peak else [])]


def totals(cost: Cost) -> dict[str, float]:
    return {name: sum(getattr(line, name) for line in cost.lines) for name in ("forward", "backward", "optimizer")}
