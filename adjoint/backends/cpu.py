"""PyTorch's `torch.backends.cpu`."""


def get_cpu_capability() -> str:
    """"DEFAULT": PyTorch's own kernels for vector instructions are not here. adjoint's choose theirs by themselves."""
    return "DEFAULT"
