# Random numbers for an expanded tensor are drawn row by row.
import numpy as np
import torch  # or: import adjoint as torch

v0 = torch.nn.Dropout()
v1 = torch.full((1, 2), 1.0, dtype=torch.float32).expand((4, 2))
v2 = v0(v1)
print(v2)
