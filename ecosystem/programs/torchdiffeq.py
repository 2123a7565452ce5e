"""Neural differential equations: solvers, the adjoint method, events."""

from typing import Any

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event


class Dynamics(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.net(y**3)


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    start, times = torch.tensor([[2.0, 0.0]]), torch.linspace(0.0, 2.0, 10)
    spiral = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    with torch.no_grad():
        truth = odeint(lambda t, y: y**3 @ spiral, start, times, method="dopri5")
    results: dict[str, Any] = {"truth": truth}
    dynamics = Dynamics()
    optimizer = torch.optim.RMSprop(dynamics.parameters(), lr=1e-3)
    losses = []
    for solve in (odeint, odeint_adjoint) * 3:
        optimizer.zero_grad()
        loss = (solve(dynamics, start, times) - truth).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    results["losses"] = losses
    for method in ("euler", "midpoint", "rk4", "explicit_adams", "bosh3", "adaptive_heun", "dopri8"):
        results[method] = odeint(lambda t, y: y @ spiral, start, times, method=method)
    state = (torch.tensor([1.0], requires_grad=True), torch.tensor([0.0]))
    event_time, _ = odeint_event(
        lambda t, s: (s[1], -9.8 * torch.ones_like(s[0])), state, torch.tensor(0.0), event_fn=lambda t, s: s[0][0], reverse_time=False,
        odeint_interface=odeint, atol=1e-8, rtol=1e-8,
    )  # fmt: skip
    event_time.backward()
    results["event"], results["event gradient"] = event_time, state[0].grad
    return results
