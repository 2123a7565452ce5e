"""The dataset's own generator is copied into both workers, which then draw the same noise."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, n):
        self.n = n
        self.rng = np.random.default_rng(0)  # guilty

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        x = self.rng.normal(size=4).astype("float32")  # guilty
        return torch.from_numpy(x), torch.tensor([x.sum()])


torch.manual_seed(0)
loader = DataLoader(Noisy(64), batch_size=8, num_workers=2)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
seen = []
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    seen.append(x.sum().item())
print(len(seen), len({round(s, 4) for s in seen}))
