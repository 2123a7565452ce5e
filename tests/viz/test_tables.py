"""The table of a model, and what a module and a grad_fn show in a notebook."""

from __future__ import annotations

from typing import Any

import pytest

import adjoint as ad
from adjoint import nn


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.unused = nn.Linear(2, 2)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(layer(x))
        return {"out": self.drop(x)}


def rows(table: Any) -> dict[str, tuple[str, ...]]:
    return {cells[0].lstrip("├└│─ "): cells[1:] for cells in list(table.cells())[1:]}


def test_shapes_parameters_and_work() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 5, bias=False))
    model[4].weight.requires_grad_(False)
    table = ad.viz.summary(model, ad.ones(2, 3, 4, 4))
    assert rows(table) == {
        "Sequential": ("[2, 5]", "880", "8,448"),
        "0 (Conv2d)": ("[2, 8, 4, 4]", "224", f"{2 * 8 * 16 * 27:,}"),
        "1 (BatchNorm2d)": ("[2, 8, 4, 4]", "16", "256"),
        "2 (ReLU)": ("[2, 8, 4, 4]", "--", "--"),
        "3 (Flatten)": ("[2, 128]", "--", "--"),
        "4 (Linear)": ("[2, 5]", "640", f"{2 * 640:,}"),
    }
    assert (table.total_params, table.trainable_params, table.total_mult_adds) == (880, 240, 8448)
    assert table.param_bytes == 4 * 880
    assert table.input_bytes == 4 * 2 * 48
    assert table.output_bytes == 4 * (3 * 256 + 256 + 10)
    assert all(module.training for module in model.modules())
    assert model[1].num_batches_tracked == 0  # in evaluation mode nothing changes


@pytest.mark.parametrize(
    ("layer", "shape", "work"),
    [
        (nn.ConvTranspose2d(3, 6, 2), (1, 3, 4, 4), 16 * 3 * 6 * 4),
        (nn.Conv1d(4, 8, 3, groups=2), (2, 4, 10), 2 * 8 * 8 * 6),
        (nn.LSTM(3, 5), (7, 2, 3), 7 * 2 * (20 * 3 + 20 * 5)),
        (nn.LayerNorm(6), (2, 6), 12),
        (nn.Linear(3, 5), (2, 7, 3), 14 * 15),
    ],
)
def test_work_of_layers(layer: Any, shape: tuple[int, ...], work: int) -> None:
    assert ad.viz.summary(layer, ad.ones(shape)).total_mult_adds == work


def test_modules_that_are_called_twice_or_never() -> None:
    table = ad.viz.summary(Shared(), ad.ones(3, 4))
    names = [cells[0] for cells in table.cells()]
    assert names == [
        "Layer (type)", "Shared", "├─layers (ModuleList)", "│ ├─0 (Linear)", "│ ├─0 (Linear)", "│ ├─1 (Linear)", "│ └─1 (Linear)",
        "├─drop (Dropout)", "└─unused (Linear)",
    ]  # fmt: skip
    counts = [cells[2] for cells in table.cells()]
    assert counts[1:] == ["46", "40", "20", "(recursive)", "20", "(recursive)", "--", "6"]
    assert table.total_params == 46
    assert table.total_mult_adds == 4 * 3 * 16


def test_without_inputs_and_depth() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)))
    assert [cells[0] for cells in ad.viz.summary(model, depth=1).cells()] == ["Layer (type)", "Sequential", "└─0 (Sequential)"]
    assert "Output shape" not in str(ad.viz.summary(model))
    assert repr(ad.viz.summary(model)) == str(ad.viz.summary(model))
    with pytest.raises(TypeError, match="describes a module, not Tensor"):
        ad.viz.summary(ad.ones(2))


def test_hooks_and_modes_are_restored_when_the_model_fails() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    model[1].eval()
    with pytest.raises(RuntimeError):
        ad.viz.summary(model, ad.ones(3))
    assert [module.training for module in model.modules()] == [True, True, False]
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_html_is_escaped() -> None:
    class Evil(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add_module("<script>", nn.Linear(2, 2))
            self.register_buffer("mean", ad.zeros(3))

        def extra_repr(self) -> str:
            return "<b>&"

    for html in (Evil()._repr_html_(), ad.viz.summary(Evil())._repr_html_()):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
    html = Evil()._repr_html_()
    assert "(&lt;b&gt;&amp;)" in html
    assert "6 parameters, 24 B" in html
    assert "buffer, 12 B" in html
    assert html.count("<details") == 2


def test_lazy_modules_have_a_tree() -> None:
    assert "LazyLinear" in nn.Sequential(nn.LazyLinear(3))._repr_html_()


def test_grad_fn_shows_its_graph() -> None:
    x = ad.ones(2, requires_grad=True)
    assert (x * 2).grad_fn._repr_html_().startswith("<iframe")
    assert ad.autograd.graph.get_gradient_edge(x).node._repr_html_().startswith("<iframe")
