# A backward hook of a module sees zeros for a tensor that needs no gradient.
import numpy as np
import torch  # or: import adjoint as torch

v0 = torch.nn.RNN(1, 4, bidirectional=True)
v2 = v0.register_full_backward_hook(lambda m, gi, go: log.append([g is None for g in (*gi, *go)]))
v3 = torch.full((1, 1, 1), 1.0).requires_grad_()
v4 = torch.full((2, 1, 4), 1.0)
v5 = v0(v3, v4)
v6 = v5[0]
v7 = v6.backward(torch.full((1, 1, 8), 1.0))
print(v6)
