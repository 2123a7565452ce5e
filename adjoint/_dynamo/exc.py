"""The errors of PyTorch's `torch._dynamo`, which programs name in order to catch them. Nobody raises them."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):  # noqa: N818
    """Compiling failed."""


class InternalTorchDynamoError(TorchDynamoException):
    """Compiling failed, by a fault of the compiler."""


class BackendCompilerFailed(TorchDynamoException):
    """Compiling a graph failed."""


class TorchRuntimeError(TorchDynamoException):
    """The program failed while it was being compiled."""


class Unsupported(TorchDynamoException):
    """The program does what cannot be compiled."""


class UserError(Unsupported):
    """The same, where the program could do something else."""


class RecompileError(TorchDynamoException):
    """A function had to be compiled again."""


class FailOnRecompileLimitHit(Exception):  # noqa: N818
    """A function had to be compiled again too often."""


class RestartAnalysis(TorchDynamoException):
    """Compiling begins again."""


class TensorifyScalarRestartAnalysis(RestartAnalysis):
    """Compiling begins again, with numbers as tensors."""
