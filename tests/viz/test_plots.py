"""Plots and the history of a training."""

from __future__ import annotations

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.viz.curves import spread
from adjoint.viz.plots import log_ticks, number, path, smoothed, ticks

SPACE = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SPACE}text")]


# ---- axes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-3, 7, [-2, 0, 2, 4, 6]),
        (0, 1234, [0, 500, 1000]),
        (1e-7, 3e-7, [1e-7, 1.5e-7, 2e-7, 2.5e-7, 3e-7]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert ticks(low, high, 5) == pytest.approx(expected)


def test_ticks_by_powers_of_ten():
    assert log_ticks(0.02, 300) == [0.1, 1, 10, 100]
    assert log_ticks(2, 30) == [2, 5, 10, 20]
    assert len(log_ticks(1e-12, 1e12)) <= 8


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.25, "0.25"), (-2.0, "−2"), (20000.0, "20k"), (1e-6, "10⁻⁶"), (2e9, "2·10⁹"), (0.001, "0.001")],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_moving_average_keeps_constants_and_ends():
    assert smoothed(np.full(50, 3.0), 9).tolist() == [3.0] * 50
    line = np.arange(20.0)
    np.testing.assert_allclose(smoothed(line, 5), line)


def test_long_lines_keep_their_peaks():
    y = np.zeros(50_000)
    y[31_234] = 7.0
    text = path(np.arange(50_000.0), y)
    assert text.count("L") < 1500
    assert "31234.0 7.0" in text
    assert path(np.arange(3.0), np.array([1.0, math.nan, 2.0])) == "M0.0 1.0M2.0 2.0"


# ---- figures --------------------------------------------------------------------------------------------------------


def test_a_figure_is_well_formed_and_escaped():
    figure = ad.viz.Figure("<a> & b", columns=2)
    figure.panel("<p>", x="x<y", y="'y'").line([1, 2, 3], ad.tensor([1.0, 4.0, 9.0]), "<label>").points([1, 2], [2, 3])
    figure.panel("picture", equal=True).image(ad.eye(3), (0, 1, 0, 1))
    figure.panel("bars").bars([1, 2], [3, -1])
    shown = texts(figure.svg())
    assert {"<a> & b", "<p>", "x<y", "'y'", "<label>", "picture", "bars"} <= set(shown)
    assert figure._repr_svg_() == figure.svg()
    assert "prefers-color-scheme:dark" in figure.svg()


def test_numbers_that_cannot_be_drawn_leave_gaps():
    figure = ad.viz.Figure()
    figure.panel("", log=True).line([1, 2, 3, 4], [1.0, 0.0, math.nan, 100.0])
    figure.panel("").line([1], [5.0])
    figure.panel("empty", log=True)
    figure.panel("nothing finite").line([1, 2], [math.nan, math.inf])
    ElementTree.fromstring(figure.svg())
    assert not re.search(r"[0-9 ,]nan|[ ,]-?inf", figure.svg())


def test_lengths_and_palettes_are_checked():
    panel = ad.viz.Figure().panel()
    with pytest.raises(ValueError, match=r"the same length, got shapes \(2,\) and \(3,\)"):
        panel.line([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="there is no palette 'jet': choose sea, grey, tides"):
        panel.image([[1.0]], (0, 1, 0, 1), palette="jet")
    assert panel.marks == []


def test_figures_are_saved(tmp_path: Path):
    figure = ad.viz.Figure()
    figure.panel("one").line([0, 1], [0, 1])
    assert figure.save(tmp_path / "f.svg").read_text(encoding="utf-8") == figure.svg()
    with pytest.raises(ValueError, match=r"saved as .svg or .png, not as 'f.pdf'"):
        figure.save(tmp_path / "f.pdf")


# ---- history --------------------------------------------------------------------------------------------------------


def test_history_of_lists():
    history = ad.viz.history({"train loss": [1.0, 0.1, 0.01], "test loss": [2.0, 0.2, 0.1]}, accuracy=[0.1, 0.5, 0.9])
    shown = texts(history.svg())
    assert {"Train loss, test loss", "train loss", "test loss", "Accuracy"} <= set(shown)
    assert "0.01" in shown  # losses that span many powers of ten are drawn by them
    assert "0.01" not in texts(history.svg(log=False))
    assert repr(history).startswith("<History of 3 steps: train loss 1 → 0.01")
    assert ad.viz.history([3.0, 2.0])["loss"] == [3.0, 2.0]
    assert ad.viz.history(ad.tensor([3.0, 2.0]))["loss"] == [3.0, 2.0]
    with pytest.raises(TypeError, match="takes a module, or numbers by name, not str"):
        ad.viz.history("loss")


def test_history_of_a_model_takes_down_gradients(tmp_path: Path):
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    history = ad.viz.history(model, title="Training")
    for _ in range(3):
        model.zero_grad()
        loss = model(ad.ones(4, 2)).square().mean()
        loss.backward()
        history.step(loss, rate=0.1)
    layers = [("0", model[0]), ("2", model[2])]
    for name, layer in layers:
        norm = math.sqrt(sum(p.grad.square().sum().item() for p in layer.parameters()))
        assert history.norms[name][-1] == pytest.approx(norm)
    assert history.norms[""][-1] == pytest.approx(nn.utils.clip_grad_norm_(model.parameters(), math.inf).item())
    assert history.last["0"].sum() == sum((p.grad != 0).sum().item() for p in model[0].parameters())
    shown = texts(history.svg())
    assert {"Training", "Loss", "Rate", "Norm of the gradient", "Sizes of gradients by layer", "first step", "last step"} <= set(shown)
    assert history.save(tmp_path / "h.svg").read_text(encoding="utf-8") == history._repr_svg_()


def test_sizes_of_gradients_are_counted_by_powers_of_ten():
    counts = spread([np.array([1e-2, -1e-2, 0.0, np.nan]), np.array([1e-30, 1e30])])
    assert counts.sum() == 4
    assert counts[0] == counts[-1] == 1
    assert counts.max() == 2


def test_an_empty_history_can_be_drawn():
    ElementTree.fromstring(ad.viz.history(nn.Linear(2, 2)).svg())
    assert re.search("nothing yet", repr(ad.viz.history()))
