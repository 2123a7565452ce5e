"""PyTorch's `torch.xpu`, as it answers where there is no such GPU."""


def is_available() -> bool:
    """False: adjoint computes on the CPU."""
    return False


def device_count() -> int:
    return 0


def manual_seed(seed: int) -> None:
    """Nothing happens: there is no generator on a GPU."""


def empty_cache() -> None:
    """Nothing happens: there is no memory on a GPU."""


def manual_seed_all(seed: int) -> None:
    """Nothing happens: there is no generator on a GPU."""
