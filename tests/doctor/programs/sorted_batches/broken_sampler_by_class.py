"""A batch sampler yields the indices grouped by label, one class after the other."""
import adjoint as ad
from adjoint import nn
from adjoint.utils.data import DataLoader, TensorDataset

ad.manual_seed(3)
labels = ad.randint(0, 3, (180,))
x = ad.randn(180, 10) + nn.functional.one_hot(labels, 10) * 1.0
order = labels.argsort().tolist()
batches = [order[i:i + 10] for i in range(0, 180, 10)]
loader = DataLoader(TensorDataset(x, labels), batch_sampler=batches)  # guilty
model = nn.Linear(10, 3)
opt = ad.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(3):
    for xb, yb in loader:
        loss = nn.functional.nll_loss(nn.functional.log_softmax(model(xb), dim=1), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print((model(x).argmax(1) == labels).float().mean().item())
