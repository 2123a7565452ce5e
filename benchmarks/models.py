"""Whole training steps: forward, backward, clipping where it belongs, and the optimizer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ._timing import Step, timed

Wrap = Callable[[Any, Any], Any]  # from the library and a model to what is trained


def as_it_is(lib: Any, model: Any) -> Any:
    return model


def training_step(lib: Any, model: Any, optimizer: Any, loss_of: Any, clip: float | None = None) -> Step:
    parameters = list(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss_of().backward()
        if clip is not None:
            lib.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()

    return step


@timed("MLP 784-256-128-10, batch 64, Adam")
def multilayer_perceptron(lib: Any, wrap: Wrap = as_it_is) -> Step:
    nn, F = lib.nn, lib.nn.functional
    lib.manual_seed(0)
    model = wrap(lib, nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)))
    x, y = lib.randn(64, 784), lib.randint(0, 10, (64,))
    return training_step(lib, model, lib.optim.Adam(model.parameters(), lr=1e-3), lambda: F.cross_entropy(model(x), y))


@timed("CNN of the MNIST example, batch 64, Adam")
def convolutional_network(lib: Any, wrap: Wrap = as_it_is) -> Step:
    nn, F = lib.nn, lib.nn.functional
    lib.manual_seed(0)
    model = wrap(lib, nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
        nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10), nn.LogSoftmax(dim=1),
    ))  # fmt: skip
    x, y = lib.randn(64, 1, 28, 28), lib.randint(0, 10, (64,))
    return training_step(lib, model, lib.optim.Adam(model.parameters(), lr=1e-3), lambda: F.nll_loss(model(x), y))


WIDTH, HEADS, LAYERS, BLOCK, BATCH, VOCABULARY = 128, 4, 4, 64, 12, 65


def transformer(lib: Any) -> Any:
    nn, F = lib.nn, lib.nn.functional

    class Layer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            batch, block, width = x.shape
            q, k, v = self.qkv(self.before(x)).split(width, dim=2)
            q, k, v = (t.view(batch, block, HEADS, width // HEADS).transpose(1, 2) for t in (q, k, v))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).contiguous().view(batch, block, width))
            return x + self.down(F.gelu(self.up(self.between(x))))

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
            self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, indices: Any) -> Any:
            x = self.tokens(indices) + self.places(lib.arange(indices.shape[1]))
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))

    return Model()


@timed("GPT of 4 layers, 4 heads, width 128, block 64, batch 12, AdamW, clipping")
def language_model(lib: Any, wrap: Wrap = as_it_is) -> Step:
    lib.manual_seed(0)
    model = wrap(lib, transformer(lib))
    text = lib.randint(0, VOCABULARY, (BATCH, BLOCK + 1))
    x, y = text[:, :-1], text[:, 1:].reshape(-1)
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of = lambda: lib.nn.functional.cross_entropy(model(x).view(-1, VOCABULARY), y)  # noqa: E731
    return training_step(lib, model, optimizer, loss_of, clip=1.0)


def recurrent_network(lib: Any, layer: str) -> Step:
    nn = lib.nn
    lib.manual_seed(0)
    model = nn.ModuleDict({"layer": getattr(nn, layer)(128, 128, batch_first=True), "head": nn.Linear(128, 10)})
    x, y = lib.randn(32, 50, 128), lib.randint(0, 10, (32,))

    def loss_of() -> Any:
        states, _ = model["layer"](x)
        return nn.functional.cross_entropy(model["head"](states[:, -1]), y)

    return training_step(lib, model, lib.optim.Adam(model.parameters(), lr=1e-3), loss_of)


@timed("LSTM of 50 steps, width 128, batch 32, Adam")
def long_short_term_memory(lib: Any) -> Step:
    return recurrent_network(lib, "LSTM")


@timed("GRU of 50 steps, width 128, batch 32, Adam")
def gated_recurrent_units(lib: Any) -> Step:
    return recurrent_network(lib, "GRU")


@timed("RNN of 50 steps, width 128, batch 32, Adam")
def recurrent_units(lib: Any) -> Step:
    return recurrent_network(lib, "RNN")


@timed("physics-informed network 2-20x8-1, tanh, 2000 points, second derivatives")
def physics_informed(lib: Any) -> Step:
    nn = lib.nn
    lib.manual_seed(0)
    sizes = [2, *[20] * 8, 1]
    layers: list[Any] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.Tanh()]
    model = nn.Sequential(*layers[:-1])
    points = lib.rand(2000, 2).requires_grad_()

    def loss_of() -> Any:
        u = model(points)
        (first,) = lib.autograd.grad(u.sum(), points, create_graph=True)
        u_x, u_t = first[:, :1], first[:, 1:]
        (second,) = lib.autograd.grad(u_x.sum(), points, create_graph=True)
        residual = u_t + u * u_x - 0.01 * second[:, :1]
        return (residual * residual).mean()

    return training_step(lib, model, lib.optim.Adam(model.parameters(), lr=1e-3), loss_of)


@timed("residual network of 3 blocks, 3x32x32, batch 32, SGD with momentum")
def residual_network(lib: Any) -> Step:
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.first, self.norm = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
            self.second, self.last_norm = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
            self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

        def forward(self, x: Any) -> Any:
            return F.relu(self.last_norm(self.second(F.relu(self.norm(self.first(x))))) + self.short(x))

    lib.manual_seed(0)
    model = nn.Sequential(Block(3, 32, 1), Block(32, 64, 2), Block(64, 128, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))
    x, y = lib.randn(32, 3, 32, 32), lib.randint(0, 10, (32,))
    return training_step(lib, model, lib.optim.SGD(model.parameters(), 0.01, 0.9), lambda: F.cross_entropy(model(x), y))


@timed("TransformerEncoderLayer, width 128, 4 heads, batch 16 of 64, Adam")
def encoder_layer(lib: Any) -> Step:
    lib.manual_seed(0)
    model = lib.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    x, y = lib.randn(16, 64, 128), lib.randn(16, 64, 128)
    return training_step(lib, model, lib.optim.Adam(model.parameters()), lambda: lib.nn.functional.mse_loss(model(x), y))


@timed("character model, LSTMCell of 128 units, 32 steps, batch 16, Adam, clipping")
def character_model(lib: Any) -> Step:
    nn, F = lib.nn, lib.nn.functional
    lib.manual_seed(0)
    model = nn.ModuleDict({"tokens": nn.Embedding(65, 32), "cell": nn.LSTMCell(32, 128), "head": nn.Linear(128, 65)})
    text = lib.randint(0, 65, (16, 33))

    def loss_of() -> Any:
        state = lib.zeros(16, 128), lib.zeros(16, 128)
        losses = []
        for x, y in pairwise(text.unbind(1)):
            state = model["cell"](model["tokens"](x), state)
            losses.append(F.cross_entropy(model["head"](state[0]), y))
        return lib.stack(losses).mean()

    return training_step(lib, model, lib.optim.Adam(model.parameters()), loss_of, clip=1.0)


@timed("critic 784-128-128-1 with gradient penalty, batch 64, Adam")
def gradient_penalty(lib: Any) -> Step:
    nn = lib.nn
    lib.manual_seed(0)
    critic = nn.Sequential(nn.Linear(784, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
    real, fake = lib.randn(64, 784), lib.randn(64, 784)

    def loss_of() -> Any:
        share = lib.rand(64, 1)
        between = (share * real + (1 - share) * fake).requires_grad_()
        (slope,) = lib.autograd.grad(critic(between).sum(), between, create_graph=True)
        return critic(fake).mean() - critic(real).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()

    return training_step(lib, critic, lib.optim.Adam(critic.parameters(), lr=1e-4), loss_of)
