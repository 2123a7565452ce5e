"""PyTorch's `torch.backends`: none of them is here, and their switches switch nothing."""

from __future__ import annotations


class _Backend:
    """A backend that is not available. Its settings can be set and read."""

    def __init__(self, **settings: object) -> None:
        self.__dict__.update(settings)

    def is_available(self) -> bool:
        return False

    def is_built(self) -> bool:
        return False


cuda = _Backend(matmul=_Backend(allow_tf32=False))
cudnn = _Backend(allow_tf32=True, benchmark=False, deterministic=False, enabled=True)
mkl = _Backend()
mkldnn = _Backend(enabled=False)
mps = _Backend()
openmp = _Backend()
