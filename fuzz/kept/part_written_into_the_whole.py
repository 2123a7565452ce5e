# What split made of a tensor is read before the tensor is written.
import numpy as np
import torch  # or: import adjoint as torch

v1 = torch.full((1,), 1.0, dtype=torch.float64).requires_grad_()
v2 = v1.cos()
v5 = v2.chunk(1)
v6 = v5[0]
v8 = v2.copy_(v6)
v9 = v8.backward(torch.full((1,), 1.0, dtype=torch.float64))
print(v8)
