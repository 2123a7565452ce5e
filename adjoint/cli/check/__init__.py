"""`python -m adjoint check`: what of PyTorch a program uses that adjoint lacks, refuses or does nothing for, without running it.

`sources` reads files, folders, notebooks and packages; `program` and `expressions` walk through one and keep track of what its names stand
for; `names`, `calls` and `members` know what adjoint has for a name, a call and an attribute, and `conditions` which branches are taken
here; `imports` follows imports into other modules; `checking` does all of it, and `telling` puts it into words.
"""

from .checking import Report, check
from .telling import as_json, text

__all__ = ["Report", "as_json", "check", "text"]
