# What has no derivative requires grad all the same, and the backward pass says so.
import numpy as np
import torch  # or: import adjoint as torch

v0 = torch.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
v1 = torch.linalg.ldl_factor_ex(v0)
v2 = torch.geqrf(v0)
v3 = v2[0].sum().backward()
print(v1, v2)
