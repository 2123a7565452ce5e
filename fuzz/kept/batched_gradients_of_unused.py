# Zeros in place of unused gradients are no batch.
import numpy as np
import torch  # or: import adjoint as torch

v0 = torch.full((), 1.0, dtype=torch.float64).requires_grad_()
v1 = torch.full((), 1.0, dtype=torch.float64).requires_grad_()
v5 = torch.autograd.grad(v1, [v0], torch.full((3,), 1.0, dtype=torch.float64), materialize_grads=True, is_grads_batched=True)
print(v5)
