"""Find the communities of a network of friends by passing messages along its edges; only a few people say where they belong."""

from __future__ import annotations

import argparse

import adjoint as ad
import adjoint.nn.functional as F
from adjoint import Tensor, nn

GROUPS, LABELLED = 4, 10


def make_friends(people: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return hints, (people, GROUPS), edges, (2, count), and the group of each person. Friends are mostly of one group."""
    group = ad.arange(people) % GROUPS
    hints = F.one_hot(group, GROUPS) + 1.5 * ad.randn(people, GROUPS)  # so noisy that they say little on their own
    same = group[:, None] == group
    likely = ad.where(same, 12 * GROUPS / people, GROUPS / people)  # about 12 friends inside, 3 outside
    edges = (ad.rand(people, people) < likely).triu(1).nonzero().T
    return hints, ad.cat([edges, edges.flip(0)], dim=1), group  # friendship goes both ways


class MessagePassing(nn.Module):
    """Every node adds the mean of its neighbours' messages to what it knows itself."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own, self.message = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        messages = self.message(x)[source]  # one row for each edge
        received = ad.zeros(len(x), messages.shape[1]).index_add(0, target, messages)
        neighbours = ad.zeros(len(x)).scatter_add(0, target, ad.ones(len(target))).clamp(min=1)
        return self.own(x) + received / neighbours[:, None]


class GraphNetwork(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([MessagePassing(GROUPS, width), MessagePassing(width, width), MessagePassing(width, GROUPS)])

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = F.dropout(F.relu(layer(x, edges)), 0.5, self.training)
        return self.layers[-1](x, edges)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200, help="training steps")
    parser.add_argument("--size", type=int, default=1000, help="number of people")
    parser.add_argument("--out", default="graph_network.svg", help="where to draw the loss and the groups")
    args = parser.parse_args()

    ad.manual_seed(0)
    hints, edges, group = make_friends(args.size)
    known = slice(0, LABELLED * GROUPS)  # these have told their group; the rest is to be found out
    unknown = slice(LABELLED * GROUPS, None)
    model = GraphNetwork(32)
    optimizer = ad.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-3)

    history = ad.viz.history()
    for step in range(1, args.steps + 1):
        loss = F.cross_entropy(model(hints, edges)[known], group[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.step(loss)
        if step % max(1, args.steps // 10) == 0:
            print(f"step {step}/{args.steps}   loss {loss.item():.4f}", flush=True)

    def accuracy(scores: Tensor) -> float:
        return (scores.argmax(dim=1) == group)[unknown].float().mean().item()

    model.eval()
    with ad.no_grad():
        scores = model(hints, edges)
        alone, together = accuracy(hints), accuracy(scores)
        # Two directions out of the space of scores: the ones in which they differ most.
        flat = ad.pca_lowrank(scores, q=2)[0]

    figure = history.figure(columns=2)
    panel = figure.panel("People, by what the network says of them", equal=True)
    for number in range(GROUPS):
        panel.points(*flat[group == number].T, f"group {number}")
    print(f"picture: {figure.save(args.out).resolve()}")
    first, last = history["loss"][0], history["loss"][-1]
    print(f"loss {first:.3f} -> {last:.3f}, accuracy for the others {together:.1%}; from their hints alone {alone:.1%}")


if __name__ == "__main__":
    main()
