"""The same training code, run by adjoint and by PyTorch from the same seed, gives the same loss at every one of 100 steps."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # arrays this small gain nothing from more

STEPS = 100

# Every trainer takes the library as `t` and yields the loss before each step. Data, weights and batches come from t's own generator.


def steps(optimizer, loss_of, before_step=lambda: None):
    for step in range(STEPS):
        loss = loss_of(step)
        optimizer.zero_grad()
        loss.backward()
        before_step()
        optimizer.step()
        yield loss.item()


def mlp(t):
    x = t.randn(64, 8)
    y = (x[:, :4] * x[:, 4:]).sum(1, keepdim=True).tanh()
    model = t.nn.Sequential(t.nn.Linear(8, 32), t.nn.Tanh(), t.nn.Linear(32, 32), t.nn.Tanh(), t.nn.Linear(32, 1))
    return steps(t.optim.Adam(model.parameters(), lr=1e-2), lambda step: t.nn.functional.mse_loss(model(x), y))


def cnn(t):
    labels = t.randint(0, 4, (32,))
    images = t.randn(4, 1, 12, 12)[labels] + t.randn(32, 1, 12, 12)
    model = t.nn.Sequential(
        t.nn.Conv2d(1, 6, 3, padding=1), t.nn.ReLU(), t.nn.MaxPool2d(2), t.nn.Conv2d(6, 8, 3, stride=2), t.nn.ReLU(),
        t.nn.AdaptiveAvgPool2d(2), t.nn.Flatten(), t.nn.Dropout(0.0), t.nn.Linear(32, 4),
    )  # fmt: skip
    optimizer = t.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return steps(optimizer, lambda step: t.nn.functional.cross_entropy(model(images), labels))


def gpt(t):
    nn, functional = t.nn, t.nn.functional
    vocabulary, context, width, heads = 11, 12, 16, 2

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            q, k, v = (z.unflatten(-1, (heads, -1)).transpose(1, 2) for z in self.qkv(self.norm1(x)).chunk(3, dim=-1))
            heard = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(heard.transpose(1, 2).flatten(2))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks = nn.Sequential(Block(), Block(), nn.LayerNorm(width), nn.Linear(width, vocabulary))

        def forward(self, index):
            return self.blocks(self.token(index) + self.position(t.arange(index.shape[1])))

    data = (t.arange(200) ** 2 + t.arange(200) // 5) % vocabulary
    model = GPT()

    def loss_of(step):
        window = data[t.randint(0, len(data) - context, (8, 1)) + t.arange(context + 1)]
        return functional.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())

    optimizer = t.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    return steps(optimizer, loss_of, before_step=lambda: nn.utils.clip_grad_norm_(model.parameters(), 0.5))


def lstm(t):
    lstm, head = t.nn.LSTM(1, 12, num_layers=2, batch_first=True), t.nn.Linear(12, 1)
    wave = (0.4 * t.arange(20) + 6.28 * t.rand(16, 1)).sin().unsqueeze(-1)
    optimizer = t.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-2)
    return steps(optimizer, lambda step: t.nn.functional.mse_loss(head(lstm(wave[:, :-1])[0]), wave[:, 1:]))


def curve(library, trainer):
    library.manual_seed(5)
    return np.array(list(trainer(library)))


# Float32 rounds to 6e-8, and the two libraries add in different orders, so the losses of the first steps differ by 1e-7 or 2e-7. Training
# carries such differences along without making them much larger: after 100 steps 2e-6 was seen, and more only where the loss has almost
# vanished, which is what the absolute tolerance is for. A wrong constant in an optimizer or a formula shows in the third digit by then.
RELATIVE, ABSOLUTE = 1e-5, 1e-6


@pytest.mark.parametrize("trainer", [mlp, cnn, gpt, lstm])
def test_loss_curve(trainer):
    ours, theirs = curve(ad, trainer), curve(torch, trainer)
    assert theirs[-1] < 0.6 * theirs[0], "it does not learn, so its curve says little"
    np.testing.assert_allclose(ours, theirs, rtol=RELATIVE, atol=ABSOLUTE)
