"""PyTorch's `torch.cuda.amp.common`."""


def amp_definitely_not_available() -> bool:
    """True: there is no GPU."""
    return True
