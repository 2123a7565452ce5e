"""Train a small network to tell two interlocking arcs apart: `./dev demo`."""

from __future__ import annotations

import time

from progress import Steps

import adjoint as ad
from adjoint import nn

POINTS_PER_ARC = 200
STEPS = 300


def make_arcs() -> tuple[ad.Tensor, ad.Tensor]:
    """Return points in the plane, (2n, 2), and the arc that each belongs to, (2n,)."""
    t = ad.linspace(-1.0, 1.0, POINTS_PER_ARC)
    opening_down = ad.stack([t - 0.5, 1.4 - 2 * t * t], dim=1)
    opening_up = ad.stack([t + 0.5, 2 * t * t - 1.4], dim=1)
    points = ad.cat([opening_down, opening_up]) + 0.1 * ad.randn(2 * POINTS_PER_ARC, 2)
    side = ad.cat([0 * t - 1, 0 * t + 1])
    return points, ad.stack([-side, side], dim=1).argmax(dim=1)


def main() -> None:
    ad.manual_seed(0)
    points, arcs = make_arcs()
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
    loss_of = nn.CrossEntropyLoss()
    optimizer = ad.optim.Adam(model.parameters(), lr=0.01)

    start = time.perf_counter()
    steps = Steps(STEPS)
    for _ in steps:
        loss = loss_of(model(points), arcs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps.show(loss)
    seconds = time.perf_counter() - start

    accuracy = (model(points).argmax(dim=1) == arcs).float().mean().item()
    print(f"loss {steps.first:.4f} -> {steps.last:.4f}, accuracy {accuracy:.1%}, {STEPS} steps in {seconds:.1f} s")


if __name__ == "__main__":
    main()
