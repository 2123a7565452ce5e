"""What is used of PyTorch's `torch._inductor.cpu_vec_isa`."""

from __future__ import annotations


class InvalidVecISA:
    """No vector instructions that PyTorch's compiler could use. Kernels choose theirs by themselves."""

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return "INVALID_VEC_ISA"


invalid_vec_isa = InvalidVecISA()


def pick_vec_isa() -> InvalidVecISA:
    return invalid_vec_isa


def valid_vec_isa_list() -> list[InvalidVecISA]:
    return []
