"""A parallel solver of differential equations, one step size per trajectory."""

from typing import Any

import torch
import torchode as to


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    decay = torch.tensor([[-0.5], [-1.5], [-3.0]], dtype=torch.float64, requires_grad=True)
    start = torch.rand(3, 2, dtype=torch.float64) + 1
    times = torch.stack([torch.linspace(a, b, 6, dtype=torch.float64) for a, b in ((0, 5), (1, 3), (0, 2))])
    results: dict[str, Any] = {}
    for method in (to.Dopri5, to.Tsit5, to.Heun):
        term = to.ODETerm(lambda t, y: decay * y)
        controller = to.IntegralController(atol=1e-6, rtol=1e-4, term=term)
        solver = to.AutoDiffAdjoint(method(term=term), controller)
        solution = solver.solve(to.InitialValueProblem(y0=start, t_eval=times))
        decay.grad = None
        solution.ys.sum().backward()
        results[method.__name__], results[method.__name__ + " gradient"] = solution.ys, decay.grad.clone()
        results[method.__name__ + " steps"] = solution.stats["n_steps"]
    return results
