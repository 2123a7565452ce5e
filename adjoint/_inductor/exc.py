"""The errors of PyTorch's `torch._inductor`, which programs name in order to catch them. Nobody raises them."""


class InductorError(RuntimeError):
    """Making code of a graph failed."""
