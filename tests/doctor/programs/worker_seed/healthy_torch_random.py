"""Noise from torch's own generator, which the loader seeds differently in each worker."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __len__(self):
        return 128

    def __getitem__(self, index):
        x = torch.randn(4)
        return x, x.sum(0, keepdim=True)


torch.manual_seed(0)
loader = DataLoader(Noisy(), batch_size=8, num_workers=2)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
losses, seen = [], set()
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
    seen.add(round(x.sum().item(), 4))
print(losses[0], losses[-1], len(seen))
