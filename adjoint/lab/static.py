"""The lab without a Python: the same pages as files, with what adjoint computed in them."""

from __future__ import annotations

import sys
from pathlib import Path

from . import pages


def write(folder: str | Path) -> int:
    """Write every file of the lab into a folder, which a browser can open as it is or a site can serve."""
    place, size = Path(folder), 0
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"python -m adjoint lab: the pages cannot be written there ({error})", file=sys.stderr)
        return 1
    for name in pages.names():
        found = pages.content(name, live=False)
        assert found is not None
        size += (place / name).write_bytes(found[1])
    print(f"{place / 'index.html'}: the lab, {len(pages.names())} files, {size / 1000:.0f} kB")
    return 0
