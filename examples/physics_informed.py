"""Solve a differential equation with a network that is told the equation and the start, but never the solution.

A weight on a spring with friction: u'' + 2 d u' + w² u = 0, with u(0) = 1 and u'(0) = 0.
"""

from __future__ import annotations

import argparse

import adjoint as ad
from adjoint import Tensor, nn

FRICTION, FREQUENCY, END = 0.4, 3.0, 2.0


def exact(t: Tensor) -> Tensor:
    """The solution from the textbook, to judge the network at the end."""
    w = (FREQUENCY**2 - FRICTION**2) ** 0.5
    return (-FRICTION * t).exp() * ((w * t).cos() + FRICTION / w * (w * t).sin())


def derivative(u: Tensor, t: Tensor) -> Tensor:
    """du/dt at every point. Each u depends on its own t only, so the gradient of the sum holds all of them."""
    (slope,) = ad.autograd.grad(u.sum(), t, create_graph=True)  # create_graph: the derivative can be differentiated again
    return slope


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500, help="training steps")
    parser.add_argument("--size", type=int, default=32, help="width of the hidden layers")
    parser.add_argument("--out", default="physics_informed.svg", help="where to draw the loss and the solution")
    args = parser.parse_args()

    ad.manual_seed(0)
    # tanh, because the equation needs a second derivative, and that of ReLU is zero everywhere.
    network = nn.Sequential(
        nn.Linear(1, args.size), nn.Tanh(), nn.Linear(args.size, args.size), nn.Tanh(), nn.Linear(args.size, 1)
    )  # fmt: skip
    optimizer = ad.optim.Adam(network.parameters(), lr=5e-3)
    scheduler = ad.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)

    history = ad.viz.history()
    for step in range(1, args.steps + 1):
        t = (END * ad.rand(100, 1)).requires_grad_()
        # Built so that u(0) = 1 and u'(0) = 0 hold whatever the network says: the start need not be learned.
        u = 1 + t**2 * network(t)
        du = derivative(u, t)
        ddu = derivative(du, t)
        loss = (ddu + 2 * FRICTION * du + FREQUENCY**2 * u).pow(2).mean()  # zero where the equation holds
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        history.step(loss)
        if step % max(1, args.steps // 10) == 0:
            print(f"step {step}/{args.steps}   loss {loss.item():.4f}", flush=True)

    with ad.no_grad():
        t = ad.linspace(0, END, 200).unsqueeze(1)
        solution = 1 + t**2 * network(t)
        error = (solution - exact(t)).abs().max().item()

    figure = history.figure()
    panel = figure.panel("The weight on its spring", x="time", y="u")
    panel.line(t[:, 0], exact(t)[:, 0], "textbook", smooth=False)
    panel.line(t[:, 0], solution[:, 0], "network", smooth=False)
    print(f"picture: {figure.save(args.out).resolve()}")
    first, last = history["loss"][0], history["loss"][-1]
    print(f"loss {first:.3f} -> {last:.5f}, largest distance from the exact solution {error:.4f}")


if __name__ == "__main__":
    main()
