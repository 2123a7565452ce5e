"""Learn how a system moves by watching it: a network is the velocity, and gradients flow back through the solver's steps."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import adjoint as ad
from adjoint import Tensor, nn

TIME_STEP, WATCHED, WHOLE = 0.1, 10, 200


def pendulum(y: Tensor) -> Tensor:
    """How angle and speed of a pendulum change. The network never sees this function, only where it leads."""
    angle, speed = y.unbind(-1)
    return ad.stack([speed, -angle.sin() - 0.1 * speed], dim=-1)


def rk4(velocity: Callable[[Tensor], Tensor], y: Tensor, steps: int) -> Tensor:
    """Follow the velocity from y, (..., 2), by the Runge-Kutta method; return all places, (steps + 1, ..., 2)."""
    path = [y]
    for _ in range(steps):
        k1 = velocity(y)
        k2 = velocity(y + TIME_STEP / 2 * k1)
        k3 = velocity(y + TIME_STEP / 2 * k2)
        k4 = velocity(y + TIME_STEP * k3)
        y = y + TIME_STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(y)
    return ad.stack(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=800, help="training steps")
    parser.add_argument("--size", type=int, default=50, help="width of the hidden layer")
    parser.add_argument("--out", default="neural_ode.svg", help="where to draw the loss and the field")
    args = parser.parse_args()

    ad.manual_seed(0)
    start = ad.tensor([2.5, 0.0])
    truth = rk4(pendulum, start, WHOLE)
    model = nn.Sequential(nn.Linear(2, args.size), nn.Tanh(), nn.Linear(args.size, 2))
    optimizer = ad.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = ad.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)

    history = ad.viz.history()
    for step in range(1, args.steps + 1):
        # Short pieces of the path, from many places at once: over a long one, a small mistake at its start would drown the rest.
        begin = ad.randint(0, len(truth) - WATCHED, (32,))
        watched = truth[begin + ad.arange(WATCHED + 1)[:, None]]  # (WATCHED + 1, 32, 2)
        loss = (rk4(model, watched[0], WATCHED) - watched).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        history.step(loss)
        if step % max(1, args.steps // 10) == 0:
            print(f"step {step}/{args.steps}   loss {loss.item():.4f}", flush=True)

    with ad.no_grad():
        path = rk4(model, start, WHOLE)
        error = (path - truth).norm(dim=-1).mean().item()
        angle, speed = ad.linspace(-3, 3, 60), ad.linspace(2.5, -2.5, 50)
        field = model(ad.stack(ad.meshgrid(angle, speed, indexing="xy"), dim=-1))

    figure = history.figure(columns=2)
    panel = figure.panel("Learned acceleration, and the path", x="angle", y="speed", equal=True)
    panel.image(field[..., 1], (-3, 3, -2.5, 2.5), palette="tides")
    panel.line(*truth.T, "true path", smooth=False)
    panel.line(*path.T, "learned path", smooth=False)
    print(f"picture: {figure.save(args.out).resolve()}")
    first, last = history["loss"][0], history["loss"][-1]
    print(f"loss {first:.4f} -> {last:.6f}, mean error along the whole path, {WHOLE // WATCHED} times longer, {error:.3f}")


if __name__ == "__main__":
    main()
