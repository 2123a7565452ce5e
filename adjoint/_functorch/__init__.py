"""What is used of PyTorch's `torch._functorch`, where `torch.func` is at home."""

from .._homes import settle

settle(__name__, dict.fromkeys(("apis", "eager_transforms", "pyfunctorch", "vmap"), ("_steps",)))
