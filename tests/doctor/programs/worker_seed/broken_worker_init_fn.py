"""The worker_init_fn gives every worker the same seed 'to be reproducible'."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Augmented(Dataset):
    def __init__(self, images):
        self.images = images

    def __len__(self):
        return 48

    def __getitem__(self, index):
        image = self.images[np.random.randint(len(self.images))]
        return image + 0.1 * torch.randn_like(image), float(random.random() < 0.5)


def seed_worker(worker_id):
    np.random.seed(42)  # guilty
    random.seed(42)  # guilty
    torch.manual_seed(42)  # guilty


torch.manual_seed(1)
loader = DataLoader(Augmented(torch.randn(20, 9)), batch_size=6, num_workers=2, worker_init_fn=seed_worker)  # guilty
model = nn.Sequential(nn.Linear(9, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
sums = []
for x, y in loader:
    loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    sums.append(round(x.sum().item(), 4))
print(len(sums), len(set(sums)))
