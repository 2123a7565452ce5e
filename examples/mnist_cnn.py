"""Teach a convolutional network to read digits. The digits are drawn by the program, so nothing is downloaded."""

from __future__ import annotations

import argparse

import adjoint as ad
import adjoint.nn.functional as F
from adjoint import Tensor, nn

# Ten digits, each three pixels wide and five pixels high, one row after the other.
FONT = [
    "111101101101111", "010110010010111", "111001111100111", "111001111001111", "101101111001001",
    "111100111001111", "111100111101111", "111001010010010", "111101111101111", "111101111001111",
]  # fmt: skip
GLYPHS = F.pad(ad.tensor([[float(pixel) for pixel in digit] for digit in FONT]).view(10, 1, 5, 3), (3, 3, 2, 2))  # (10, 1, 9, 9)


def draw_digits(count: int) -> tuple[Tensor, Tensor]:
    """Return images, (count, 1, 28, 28), and the digits that they show. Every image is turned, stretched, moved and noisy."""
    labels = ad.randint(0, 10, (count,))
    angle = 0.2 * ad.randn(count)
    width, height = 0.5 + 0.3 * ad.rand(2, count)
    shift = 0.2 * (2 * ad.rand(2, count) - 1)
    # An affine map says which place of the glyph each pixel of the image shows.
    rows = [width * angle.cos(), -height * angle.sin(), shift[0], width * angle.sin(), height * angle.cos(), shift[1]]
    grid = F.affine_grid(ad.stack(rows, dim=1).view(count, 2, 3), [count, 1, 28, 28], align_corners=False)
    images = F.grid_sample(GLYPHS[labels], grid, align_corners=False)
    return images + 0.2 * ad.randn(count, 1, 28, 28), labels


class Reader(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, kernel_size=3)
        self.conv2 = nn.Conv2d(channels, 2 * channels, kernel_size=3)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(2 * channels * 5 * 5, 10)

    def forward(self, images: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(images)), 2)  # 28 -> 26 -> 13
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)  # 13 -> 11 -> 5
        return self.fc(self.dropout(x.flatten(1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300, help="batches to learn from")
    parser.add_argument("--size", type=int, default=16, help="channels of the first convolution")
    parser.add_argument("--out", default="mnist_cnn.svg", help="where to draw the loss and some digits")
    args = parser.parse_args()

    ad.manual_seed(0)
    model = Reader(args.size)
    optimizer = ad.optim.Adam(model.parameters(), lr=3e-3)

    history = ad.viz.history()
    for step in range(1, args.steps + 1):
        images, labels = draw_digits(64)  # fresh digits every time: there is nothing to learn by heart
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.step(loss)
        if step % max(1, args.steps // 10) == 0:
            print(f"step {step}/{args.steps}   loss {loss.item():.4f}", flush=True)

    model.eval()  # dropout is for training only
    with ad.no_grad():
        images, labels = draw_digits(1000)
        read = model(images).argmax(dim=1)
        accuracy = (read == labels).float().mean().item()

    # Five rows of ten new digits, as the network read them; those that it misread first.
    order = (read == labels).int().argsort(stable=True)[:50]
    figure = history.figure(columns=2)
    missed = int((read != labels).sum())
    panel = figure.panel(f"New digits, the {missed} misread ones first" if missed else "New digits, all read", equal=True, axes=False)
    sheet = images[order, 0].view(5, 10, 28, 28).transpose(1, 2).reshape(5 * 28, 10 * 28).clamp(0, 1)
    panel.image(sheet, (0, 10, 0, 5), palette="grey")
    print(f"picture: {figure.save(args.out).resolve()}")
    first, last = history["loss"][0], history["loss"][-1]
    print(f"loss {first:.3f} -> {last:.3f}, accuracy on 1000 new digits {accuracy:.1%}")


if __name__ == "__main__":
    main()
