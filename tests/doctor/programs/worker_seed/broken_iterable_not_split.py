"""An IterableDataset does not ask which worker it is in, so that each worker yields all of the samples."""
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, table):
        self.table = table

    def __iter__(self):
        for row in self.table:  # guilty
            yield row[:-1], row[-1:]


torch.manual_seed(2)
table = torch.randn(40, 6)
loader = DataLoader(Stream(table), batch_size=10, num_workers=2)  # guilty
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
rows = 0
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    rows += len(x)
print(rows, len(table))
