"""Signal processing: window functions."""

from . import windows as windows
