"""The early-stopping check sets the model to eval mode and back to train mode."""

import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience=5, min_delta=1e-4):
        self.patience = patience
        self.min_delta = min_delta
        self.best = float("inf")
        self.bad_checks = 0
        self.best_state = None

    def __call__(self, value, model):
        if value < self.best - self.min_delta:
            self.best = value
            self.bad_checks = 0
            self.best_state = copy.deepcopy(model.state_dict())
        else:
            self.bad_checks += 1
        return self.bad_checks >= self.patience


def validation_loss(model, loader, criterion):
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            total += criterion(model(x), y).item() * len(x)
            n += len(x)
    model.train()
    return total / n


def train(model, train_loader, val_loader, epochs, check_every=3):
    criterion = nn.SmoothL1Loss()
    optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3)
    stopper = EarlyStopping()
    model.train()
    step = 0
    for _ in range(epochs):
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % check_every == 0 and stopper(validation_loss(model, val_loader, criterion), model):
                model.load_state_dict(stopper.best_state)
                return stopper.best, step
    return stopper.best, step


torch.manual_seed(3)
x = torch.randn(150, 10)
y = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3]
train_loader = DataLoader(TensorDataset(x[:110], y[:110]), batch_size=22, shuffle=True)
val_loader = DataLoader(TensorDataset(x[110:], y[110:]), batch_size=20)
model = nn.Sequential(nn.Linear(10, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.25), nn.Linear(48, 1))
best, steps = train(model, train_loader, val_loader, epochs=6)
print(f"best validation loss {best:.4f} after {steps} steps")
