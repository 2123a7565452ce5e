"""`python -m adjoint`: see `adjoint.cli`."""

import sys

from .cli import main

sys.exit(main())
