"""Errors that say what happened, on which line, and what to write instead.

Every class is also PyTorch's exception type for the same mistake, and every message opens with PyTorch's words, so that searches and
`pytest.raises(RuntimeError, match=...)` keep working. The sites are attributes too, for editors and other tools.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ._site import Site


class AdjointError(Exception):
    """Base of all errors about the graph. `sites` maps a role ("made", "changed", "freed") to the line that played it."""

    sites: dict[str, Site]
    fix: str | None
    carets: ClassVar[bool] = False  # whether the expression is marked in each line that is shown

    def __init__(self, message: str, sites: dict[str, Site] | None = None, fix: str | None = None) -> None:
        self.sites = sites or {}
        text = compose(message, self.sites, fix, self.carets)
        self.fix = None if fix is None else text.rpartition(FIX)[2]
        super().__init__(text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Across processes go the message, which names the lines, and the fix; code objects cannot."""
        return unpickled, (type(self), str(self), self.fix)

    def to_dict(self) -> dict[str, Any]:
        places = {role: {"file": s.filename, "line": s.line, "text": s.text} for role, s in self.sites.items()}
        return {"error": type(self).__name__, "message": str(self), "sites": places, "fix": self.fix}


def unpickled(kind: type[AdjointError], message: str, fix: str | None) -> AdjointError:
    error = kind(message)
    error.fix = fix
    return error


class InplaceError(AdjointError, RuntimeError):
    """A value that backward needs was overwritten, or an in-place write is not allowed here."""


class GraphFreedError(AdjointError, RuntimeError):
    """The saved values of this graph were freed by an earlier backward."""


class NoGradError(AdjointError, RuntimeError):
    """There is nothing to differentiate: the tensor has no history. `cause` says why (autograd/causes.py)."""

    cause: Any = None


class UnusedInputError(AdjointError, RuntimeError):
    """A tensor given to `autograd.grad` was not used to compute the outputs."""


class GradientError(AdjointError, RuntimeError):
    """A gradient has the wrong shape, dtype, device or number."""


class AnomalyError(AdjointError, RuntimeError):
    """Anomaly mode met a gradient that is not a number. `pattern` names the usual mistake that it looks like."""

    carets = True
    pattern: str = ""


def compose(message: str, sites: dict[str, Site] | None = None, fix: str | None = None, carets: bool = False) -> str:
    """The message, one line per site, and the line to write instead."""
    lines = [message]
    width = max((len(role) for role in sites or {}), default=0)
    for role, site in (sites or {}).items():
        lines.append(f"  {role:<{width}}  {site}")
        if carets and site.caret:
            lines.append(f"  {'':<{width}}  {site.caret}")
    return "\n".join(lines) if not fix else spelled("\n".join(lines) + FIX + fix)


FIX = "\n  fix: "


def spelled(message: str) -> str:
    """A message whose advice calls adjoint what the program calls it: `ad.stack` where there is `import adjoint as ad`."""
    from ._source import in_own_words

    text, mark, fix = message.partition(FIX)
    return text + mark + in_own_words(fix)
