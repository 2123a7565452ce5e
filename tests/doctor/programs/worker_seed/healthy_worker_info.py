"""The generator is made in the worker from the seed that the loader gave to it."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Noisy(Dataset):
    def __init__(self, n):
        self.n, self.rng = n, None

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if self.rng is None:
            info = get_worker_info()
            self.rng = np.random.default_rng(0 if info is None else info.seed)
        x = self.rng.normal(size=4).astype("float32")
        return torch.from_numpy(x), torch.tensor([x.sum()])


torch.manual_seed(1)
loader = DataLoader(Noisy(160), batch_size=8, num_workers=2)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
