"""Two networks play against each other until one of them can imitate a distribution: eight clusters on a circle."""

from __future__ import annotations

import argparse

import adjoint as ad
import adjoint.nn.functional as F
from adjoint import Tensor, nn

CLUSTERS, NOISE = 8, 8


def centres() -> Tensor:
    angle = 2 * ad.pi * ad.arange(CLUSTERS) / CLUSTERS
    return ad.stack([angle.cos(), angle.sin()], dim=1)


def real_points(count: int) -> Tensor:
    return centres()[ad.randint(0, CLUSTERS, (count,))] + 0.05 * ad.randn(count, 2)


def energy_distance(a: Tensor, b: Tensor) -> float:
    """Zero if and only if the points come from the same distribution: distances across, less distances within."""
    return (2 * ad.cdist(a, b).mean() - ad.cdist(a, a).mean() - ad.cdist(b, b).mean()).item()


def network(inputs: int, width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, outputs)
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000, help="rounds of the game")
    parser.add_argument("--size", type=int, default=128, help="width of the hidden layers")
    parser.add_argument("--out", default="gan.svg", help="where to draw the loss and the forged points")
    args = parser.parse_args()

    ad.manual_seed(0)
    forger, judge = network(NOISE, args.size, 2), network(2, args.size, 1)
    forger_optimizer = ad.optim.Adam(forger.parameters(), lr=5e-4, betas=(0.5, 0.9))
    judge_optimizer = ad.optim.Adam(judge.parameters(), lr=5e-4, betas=(0.5, 0.9))

    def forge(count: int) -> Tensor:
        return forger(ad.randn(count, NOISE))

    with ad.no_grad():
        before = energy_distance(forge(1000), real_points(1000))

    history = ad.viz.history()
    for step in range(1, args.steps + 1):
        real, forged = real_points(256), forge(256)

        # The judge learns to say more than 0 of real points and less than 0 of forged ones. detach: the forger must not help it.
        judge_loss = F.softplus(-judge(real)).mean() + F.softplus(judge(forged.detach())).mean()
        judge_optimizer.zero_grad()
        judge_loss.backward()
        judge_optimizer.step()

        # The forger learns to be called real. This leaves gradients in the judge too, which the next round clears.
        forger_loss = F.softplus(-judge(forged)).mean()
        forger_optimizer.zero_grad()
        forger_loss.backward()
        forger_optimizer.step()
        history.step(judge_loss)
        if step % max(1, args.steps // 10) == 0:
            print(f"step {step}/{args.steps}   loss {judge_loss.item():.4f}", flush=True)

    with ad.no_grad():
        points = forge(1000)
        after = energy_distance(points, real_points(1000))
        distance, nearest = ad.cdist(points, centres()).min(dim=1)
        found = (nearest[distance < 0.15].bincount(minlength=CLUSTERS) >= 50).sum().item()  # 125 each would be perfect

    figure = history.figure(columns=2)
    panel = figure.panel("Real and forged points", equal=True)
    panel.points(*real_points(1000).T, "real", size=1.6)
    panel.points(*points.T, "forged", size=1.6)
    print(f"picture: {figure.save(args.out).resolve()}")
    print(f"distance from the real distribution {before:.3f} -> {after:.3f}, clusters found {found} of {CLUSTERS}")


if __name__ == "__main__":
    main()
