# Indices of all elements are int64 and nothing else.
import numpy as np
import torch  # or: import adjoint as torch

v0 = torch.full((2,), 1.0)
v1 = v0.take(torch.tensor([0, 1], dtype=torch.int32))
v2 = v0.put(torch.tensor([0], dtype=torch.uint8), torch.full((1,), 2.0))
print(v0)
