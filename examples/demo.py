"""Train a small network to tell two interlocking arcs apart: `./dev demo`."""

from __future__ import annotations

import time
from pathlib import Path

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


def draw(history: ad.viz.History, model: nn.Module, points: ad.Tensor, arcs: ad.Tensor) -> Path:
    """The loss, and what the network says about each place: which arc, and how sure it is."""
    figure = history.figure(columns=2)
    panel = figure.panel("What the network sees", equal=True)
    x, y = ad.linspace(-2, 2, 96), ad.linspace(2, -2, 96)
    with ad.no_grad():
        places = ad.stack(ad.meshgrid(x, y, indexing="xy"), dim=-1)
        panel.image(model(places).softmax(dim=-1)[..., 1] - 0.5, (-2, 2, -2, 2), palette="tides")
    for arc in (0, 1):
        panel.points(*points[arcs == arc].T, f"arc {arc}")
    return figure.save("demo.svg").resolve()


def main() -> None:
    ad.manual_seed(0)
    points, arcs = make_arcs()
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
    loss_of = nn.CrossEntropyLoss()
    optimizer = ad.optim.Adam(model.parameters(), lr=0.01)

    start = time.perf_counter()
    history = ad.viz.history()
    for step in range(1, STEPS + 1):
        loss = loss_of(model(points), arcs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.step(loss)
        if step % 30 == 0:
            print(f"step {step}/{STEPS}   loss {loss.item():.4f}", flush=True)
    seconds = time.perf_counter() - start

    print(f"picture: {draw(history, model, points, arcs)}")
    accuracy = (model(points).argmax(dim=1) == arcs).float().mean().item()
    first, last = history["loss"][0], history["loss"][-1]
    print(f"loss {first:.4f} -> {last:.4f}, accuracy {accuracy:.1%}, {STEPS} steps in {seconds:.1f} s")


if __name__ == "__main__":
    main()
