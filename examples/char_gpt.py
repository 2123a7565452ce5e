"""Train a small GPT, character by character, on a text that is part of this file, and let it write."""

from __future__ import annotations

import argparse

import adjoint as ad
import adjoint.nn.functional as F
from adjoint import Tensor, nn

TEXT = """
The ferry leaves the harbour before the sun is up. On the deck stands a woman with a basket of bread, and beside her a boy
who counts the lamps along the shore. He counts them aloud, and when he has come to the end he begins again. The woman does
not mind. She knows that the lamps go out one after the other when the day comes, and that the boy wants to see the last one.
Behind them the engine hums. The water is flat and grey, and the ferry draws a long line through it, as a pencil does on paper.
By the time the line has reached the other side, the sun stands over the hills, the bread is sold, and the boy is asleep.
"""
CONTEXT = 48  # how many characters the network looks back


class Block(nn.Module):
    """Attention lets every character ask the earlier ones; the small network after it works on each character alone."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        heard = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # causal: nobody sees the characters to come
        x = x + self.out(heard.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, characters: int, width: int) -> None:
        super().__init__()
        self.character = nn.Embedding(characters, width)
        self.position = nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(Block(width), Block(width), nn.LayerNorm(width))
        self.head = nn.Linear(width, characters)

    def forward(self, index: Tensor) -> Tensor:
        x = self.character(index) + self.position(ad.arange(index.shape[1]))
        return self.head(self.blocks(x))


def attention(model: GPT, text: Tensor) -> Tensor:
    """How much each character listens to each other one in the first block, the mean over the heads, (n, n)."""
    block = model.blocks[0]
    x = model.character(text) + model.position(ad.arange(len(text)))
    q, k, _ = (t.unflatten(-1, (block.heads, -1)).transpose(0, 1) for t in block.qkv(block.norm1(x)).chunk(3, dim=-1))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    future = ad.ones(len(text), len(text)).triu(1).bool()
    return scores.masked_fill(future, -ad.inf).softmax(dim=-1).mean(dim=0)


@ad.no_grad()
def write(model: GPT, index: Tensor, count: int) -> Tensor:
    for _ in range(count):
        logits = model(index[:, -CONTEXT:])[:, -1]
        index = ad.cat([index, ad.multinomial((logits / 0.5).softmax(dim=-1), 1)], dim=1)  # below 1: prefer the likely ones
    return index


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400, help="batches to learn from")
    parser.add_argument("--size", type=int, default=64, help="width of the network, a multiple of 4")
    parser.add_argument("--out", default="char_gpt.svg", help="where to draw the loss and the attention")
    args = parser.parse_args()

    ad.manual_seed(0)
    alphabet = sorted(set(TEXT))
    data = ad.tensor([alphabet.index(c) for c in TEXT])
    model = GPT(len(alphabet), args.size)
    optimizer = ad.optim.AdamW(model.parameters(), lr=3e-3)

    history = ad.viz.history()
    for step in range(1, args.steps + 1):
        start = ad.randint(0, len(data) - CONTEXT, (16, 1))
        window = data[start + ad.arange(CONTEXT + 1)]  # one character more: each is asked for the next
        loss = F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        history.step(loss)
        if step % max(1, args.steps // 10) == 0:
            print(f"step {step}/{args.steps}   loss {loss.item():.4f}", flush=True)

    # What the first layer's heads look at: each character of a piece of text (down) asks the earlier ones (across).
    # The square root makes small shares visible.
    figure = history.figure(columns=2)
    panel = figure.panel("Attention of the first layer", x="asked", y="asking", equal=True, axes=False)
    with ad.no_grad():
        panel.image(attention(model, data[:CONTEXT]).sqrt(), (0, CONTEXT, 0, CONTEXT))
    print(f"picture: {figure.save(args.out).resolve()}")

    written = write(model, data[:20].unsqueeze(0), count=3 * CONTEXT)[0]
    print("".join(alphabet[i] for i in written.tolist()).strip())
    first, last = history["loss"][0], history["loss"][-1]
    print(f"loss {first:.3f} -> {last:.3f} per character; guessing blindly gives {ad.tensor(len(alphabet)).log():.3f}")


if __name__ == "__main__":
    main()
