"""The first dimension holds the nodes of one graph, which hear from their neighbours."""
import adjoint as ad
from adjoint import nn


class GCN(nn.Module):
    def __init__(self, n_in, hidden, classes):
        super().__init__()
        self.w1, self.w2 = nn.Linear(n_in, hidden), nn.Linear(hidden, classes)

    def forward(self, x, adjacency):
        h = ad.relu(adjacency @ self.w1(x))
        return adjacency @ self.w2(h)


ad.manual_seed(3)
nodes = 30
edges = (ad.rand(nodes, nodes) < 0.1).float()
adjacency = ((edges + edges.t()) > 0).float() + ad.eye(nodes)
adjacency = adjacency / adjacency.sum(1, keepdim=True)
x = ad.randn(nodes, 6)
labels = ((adjacency @ x)[:, 0] > 0).long()
model = GCN(6, 16, 2)
opt = ad.optim.Adam(model.parameters(), lr=2e-2)
losses = []
for _ in range(40):
    loss = nn.functional.cross_entropy(model(x, adjacency), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
