"""A decay of 0.8 per epoch is applied to every batch of a trainer and the rate is gone within the first epoch."""
import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.sched = ExponentialLR(self.opt, gamma=0.8)

    def run_epoch(self):
        for tokens, labels in self.loader:
            self.opt.zero_grad()
            loss = nn.functional.cross_entropy(self.model(tokens), labels)
            loss.backward()
            self.opt.step()
            self.sched.step()  # guilty
        return loss.item()


torch.manual_seed(2)
tokens = torch.randint(0, 30, (320, 5))
labels = (tokens[:, 0] > 14).long()
loader = DataLoader(TensorDataset(tokens, labels), batch_size=8, shuffle=True)
net = nn.Sequential(nn.Embedding(30, 8), nn.Flatten(), nn.Linear(40, 2))
trainer = Trainer(net, loader)
losses = [trainer.run_epoch() for _ in range(3)]
print(losses[-1], trainer.opt.param_groups[0]["lr"])
