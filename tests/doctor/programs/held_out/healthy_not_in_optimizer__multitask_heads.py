"""The heads of the tasks stand in a ModuleDict, so the optimizer has them all."""

import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SyntheticTasks(Dataset):
    def __init__(self, n, features):
        self.x = torch.randn(n, features)
        self.targets = {
            "sum": self.x.sum(1, keepdim=True) / math.sqrt(features),
            "max": self.x.max(1, keepdim=True).values,
            "sign": (self.x[:, :1] > 0).float(),
        }

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], {name: values[i] for name, values in self.targets.items()}


class MultiTaskNet(nn.Module):
    def __init__(self, features, tasks, hidden=24):
        super().__init__()
        self.tasks = tasks
        self.shared = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.heads = nn.ModuleDict({task: nn.Linear(hidden, 1) for task in tasks})

    def forward(self, x):
        h = self.shared(x)
        return {task: self.heads[task](h) for task in self.tasks}


torch.manual_seed(0)
dataset = SyntheticTasks(128, 6)
loader = DataLoader(dataset, batch_size=32, shuffle=True)
model = MultiTaskNet(6, ["sum", "max", "sign"])
criteria = {"sum": nn.MSELoss(), "max": nn.SmoothL1Loss(), "sign": nn.BCEWithLogitsLoss()}
weights = {"sum": 1.0, "max": 0.5, "sign": 1.0}
decay, no_decay = [], []
for name, p in model.named_parameters():
    (no_decay if name.endswith("bias") else decay).append(p)
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 1e-2}, {"params": no_decay, "weight_decay": 0.0}], lr=5e-3)
for epoch in range(6):
    meters = dict.fromkeys(criteria, 0.0)
    for x, targets in loader:
        outputs = model(x)
        loss = 0
        for task, criterion in criteria.items():
            task_loss = criterion(outputs[task], targets[task])
            meters[task] += task_loss.item() / len(loader)
            loss = loss + weights[task] * task_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(" ".join(f"{task}={value:.3f}" for task, value in meters.items()))
