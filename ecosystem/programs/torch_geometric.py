"""Graph networks: convolutions, training, batches of graphs, pooling, transforms, neighbours."""

from typing import Any

import torch
import torch_geometric.transforms as T
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    GraphConv,
    MessagePassing,
    SAGEConv,
    TransformerConv,
    global_max_pool,
    global_mean_pool,
)
from torch_geometric.utils import add_self_loops, degree, dense_to_sparse, softmax, to_undirected


class Own(MessagePassing):
    def __init__(self) -> None:
        super().__init__(aggr="add")
        self.linear = torch.nn.Linear(5, 3)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        edge_index, _ = add_self_loops(edge_index, num_nodes=x.size(0))
        row, column = edge_index
        scale = degree(column, x.size(0), dtype=x.dtype).pow(-0.5)
        return self.propagate(edge_index, x=self.linear(x), norm=scale[row] * scale[column])

    def message(self, x_j: torch.Tensor, norm: torch.Tensor) -> torch.Tensor:
        return norm.view(-1, 1) * x_j


class Net(torch.nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.first, self.second = kind(5, 8), kind(8, 3)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        x = F.dropout(self.first(x, edge_index).relu(), p=0.3, training=self.training)
        return F.log_softmax(self.second(x, edge_index), dim=1)


def isomorphism(i: int, o: int) -> GINConv:
    return GINConv(torch.nn.Sequential(torch.nn.Linear(i, o), torch.nn.ReLU(), torch.nn.Linear(o, o)), train_eps=True)


def random_graph(nodes: int) -> Data:
    edges = to_undirected(torch.randint(0, nodes, (2, 2 * nodes)), num_nodes=nodes)
    return Data(x=torch.randn(nodes, 5), edge_index=edges, y=torch.randint(0, 3, (nodes,)))


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    data = random_graph(20)
    results: dict[str, Any] = {"edges": data.edge_index, "own": Own()(data.x, data.edge_index)}
    for kind in (GCNConv, GATConv, SAGEConv, isomorphism, GraphConv, TransformerConv):
        model = Net(kind)
        optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4), []
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.nll_loss(model(data.x, data.edge_index), data.y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[kind.__name__] = losses
    loader = DataLoader([random_graph(n) for n in (4, 6, 8, 5)], batch_size=2, shuffle=True)
    layer = GCNConv(5, 4)
    for i, batch in enumerate(loader):
        out = layer(batch.x, batch.edge_index)
        results[f"batch {i}"] = [batch.batch, global_mean_pool(out, batch.batch), global_max_pool(out, batch.batch)]
    changed = T.Compose([T.NormalizeFeatures(), T.ToUndirected(), T.AddSelfLoops()])(data.clone())
    results["transformed"] = [changed.x, changed.edge_index]
    results["positional"] = T.AddLaplacianEigenvectorPE(k=2, attr_name="pe")(data.clone()).pe.abs()
    results["dense"] = list(dense_to_sparse(torch.eye(3)))
    results["softmax"] = softmax(torch.randn(6), torch.tensor([0, 0, 1, 1, 1, 2]))
    results["facts"] = [data.num_nodes, data.num_edges, int(data.is_undirected()), int(data.has_isolated_nodes())]
    return results
