"""A variational autoencoder: pictures of a bright spot become two numbers and pictures again; then it dreams up a new one."""

from __future__ import annotations

import argparse

import adjoint as ad
import adjoint.nn.functional as F
from adjoint import Tensor, nn

SIDE = 16


def draw_spots(count: int) -> Tensor:
    """Return pictures, (count, SIDE * SIDE), of a round spot at a random place, with brightness from 0 to 1."""
    axis = ad.linspace(-1, 1, SIDE)
    x, y = 1.2 * ad.rand(2, count, 1, 1) - 0.6
    return (-8 * ((axis - x) ** 2 + (axis[:, None] - y) ** 2)).exp().flatten(1)


class VAE(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(SIDE * SIDE, width), nn.ReLU(), nn.Linear(width, 4))
        self.decoder = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, SIDE * SIDE))

    def forward(self, picture: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_var = self.encoder(picture).chunk(2, dim=1)
        # Noise times a scale plus a mean: written this way, gradients reach the scale and the mean.
        code = mean + (0.5 * log_var).exp() * ad.randn_like(mean)
        return self.decoder(code), mean, log_var


def loss_of(decoded: Tensor, picture: Tensor, mean: Tensor, log_var: Tensor) -> Tensor:
    """How badly the picture came back, plus how far the codes are from a standard normal distribution."""
    reconstruction = F.binary_cross_entropy_with_logits(decoded, picture, reduction="sum")
    divergence = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum()
    return (reconstruction + divergence) / len(picture)


def as_text(picture: Tensor) -> str:
    shades = " .:-=+*#%@"
    return "\n".join("".join(2 * shades[int(9.99 * pixel)] for pixel in row) for row in picture.view(SIDE, SIDE).tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500, help="batches to learn from")
    parser.add_argument("--size", type=int, default=128, help="width of the hidden layers")
    parser.add_argument("--out", default="vae.svg", help="where to draw the loss, the codes and dreams")
    args = parser.parse_args()

    ad.manual_seed(0)
    model = VAE(args.size)
    optimizer = ad.optim.Adam(model.parameters(), lr=1e-3)

    history = ad.viz.history()
    for step in range(1, args.steps + 1):
        picture = draw_spots(64)
        decoded, mean, log_var = model(picture)
        loss = loss_of(decoded, picture, mean, log_var)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.step(loss)
        if step % max(1, args.steps // 10) == 0:
            print(f"step {step}/{args.steps}   loss {loss.item():.4f}", flush=True)

    with ad.no_grad():
        dream = model.decoder(ad.randn(1, 2)).sigmoid()  # a code that no picture was asked for
        picture = draw_spots(500)
        error = (model(picture)[0].sigmoid() - picture).abs().mean().item()
        codes = model.encoder(picture)[:, :2]
        across = ad.linspace(-2, 2, 9)
        atlas = model.decoder(ad.stack(ad.meshgrid(across, across.flip(0), indexing="xy"), dim=-1)).sigmoid()  # (9, 9, SIDE * SIDE)

    figure = history.figure(columns=3)
    figure.panel("Codes of 500 pictures", equal=True).points(*codes.T)
    panel = figure.panel("What the decoder makes of codes from -2 to 2", equal=True)
    panel.image(atlas.view(9, 9, SIDE, SIDE).transpose(1, 2).reshape(9 * SIDE, 9 * SIDE), (-2, 2, -2, 2), palette="grey")
    print(as_text(dream))
    print(f"picture: {figure.save(args.out).resolve()}")
    first, last = history["loss"][0], history["loss"][-1]
    print(f"loss {first:.2f} -> {last:.2f}, mean error of a pixel in new pictures {error:.3f}")


if __name__ == "__main__":
    main()
