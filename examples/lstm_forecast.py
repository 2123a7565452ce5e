"""Forecast a noisy signal with an LSTM, one value ahead while it learns, many values ahead afterwards."""

from __future__ import annotations

import argparse

import adjoint as ad
import adjoint.nn.functional as F
from adjoint import Tensor, nn

PAST, FUTURE = 60, 40


def signals(count: int) -> Tensor:
    """Return (count, PAST + FUTURE, 1): a slow wave and a quick one, each with a phase of its own, and a little noise."""
    time = ad.arange(PAST + FUTURE)
    slow, quick = 2 * ad.pi * ad.rand(2, count, 1)
    wave = (0.20 * time + slow).sin() + 0.5 * (0.45 * time + quick).sin()
    return (wave + 0.02 * ad.randn(count, PAST + FUTURE)).unsqueeze(-1)


class Forecaster(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, width, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, signal: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        hidden, state = self.lstm(signal, state)
        return signal + self.head(hidden), state  # what changes is easier to learn than what stays

    def forecast(self, past: Tensor, count: int) -> Tensor:
        """Continue the signal: every forecast is the next input."""
        out, state = self(past)
        values = [out[:, -1:]]
        while len(values) < count:
            out, state = self(values[-1], state)
            values.append(out)
        return ad.cat(values, dim=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600, help="batches to learn from")
    parser.add_argument("--size", type=int, default=48, help="width of the LSTM")
    parser.add_argument("--out", default="lstm_forecast.svg", help="where to draw the loss and a forecast")
    args = parser.parse_args()

    ad.manual_seed(0)
    model = Forecaster(args.size)
    optimizer = ad.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = ad.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)  # large steps first, small ones to finish

    history = ad.viz.history()
    for step in range(1, args.steps + 1):
        signal = signals(32)
        ahead, _ = model(signal[:, :-1])
        loss = F.mse_loss(ahead, signal[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        history.step(loss)
        if step % max(1, args.steps // 10) == 0:
            print(f"step {step}/{args.steps}   loss {loss.item():.4f}", flush=True)

    with ad.no_grad():
        past, future = signals(200).split([PAST, FUTURE], dim=1)
        ahead = model.forecast(past, FUTURE)
        error = F.mse_loss(ahead, future).sqrt().item()
        constant = F.mse_loss(past[:, -1:].expand_as(future), future).sqrt().item()  # the laziest forecast

    figure = history.figure()
    panel = figure.panel("A signal, and how the network continues it", x="time")
    time = ad.arange(PAST + FUTURE)
    panel.line(time, ad.cat([past[0, :, 0], future[0, :, 0]]), "signal", smooth=False)
    panel.line(time[PAST:], ahead[0, :, 0], "forecast", smooth=False)
    print(f"picture: {figure.save(args.out).resolve()}")
    first, last = history["loss"][0], history["loss"][-1]
    print(f"loss {first:.4f} -> {last:.4f}, error {FUTURE} values ahead {error:.3f}; repeating the last value {constant:.3f}")


if __name__ == "__main__":
    main()
