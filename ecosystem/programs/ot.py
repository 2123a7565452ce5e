"""POT: optimal transport between samples, with gradients through the plan's cost."""

from typing import Any

import ot
import torch


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    source, target = torch.randn(12, 2, dtype=torch.float64, requires_grad=True), torch.randn(15, 2, dtype=torch.float64) + 1
    a, b = torch.full((12,), 1 / 12, dtype=torch.float64), torch.full((15,), 1 / 15, dtype=torch.float64)
    cost = ot.dist(source, target)
    exact = ot.emd2(a, b, cost)
    exact.backward()
    smooth = ot.sinkhorn(a, b, cost.detach() / cost.detach().max(), reg=0.1)
    sliced = ot.sliced_wasserstein_distance(source.detach(), target, n_projections=20, seed=1)
    solved = ot.solve(cost.detach(), a, b, reg=1.0, reg_type="entropy")
    return {"exact": exact, "gradient": source.grad, "smooth": smooth, "sliced": sliced, "value": solved.value_linear, "plan": solved.plan}
