"""PyTorch's `torch.mps`, as it answers where there is no such GPU."""

from ._standing import inert

_no_generator = inert("there is no generator on a GPU")
_no_memory = inert("there is no memory on a GPU")


def is_available() -> bool:
    """False: adjoint computes on the CPU."""
    return False


def device_count() -> int:
    return 0


@_no_generator
def manual_seed(seed: int) -> None: ...


@_no_memory
def empty_cache() -> None: ...
