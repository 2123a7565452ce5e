"""Each worker of an IterableDataset yields its own share of the rows."""
import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __init__(self, table):
        self.table = table

    def __iter__(self):
        info = get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        for row in itertools.islice(self.table, start, None, step):
            yield row[:-1], row[-1:]


torch.manual_seed(2)
table = torch.randn(160, 6)
table[:, -1] = table[:, :5].sum(1)
loader = DataLoader(Stream(table), batch_size=10, num_workers=2)
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
losses, rows = [], 0
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
    rows += len(x)
print(losses[0], losses[-1], rows)
