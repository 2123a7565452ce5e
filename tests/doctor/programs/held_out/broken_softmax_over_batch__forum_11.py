# mixture of experts, x: [batch, features]
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


class Expert(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.fc1 = nn.Linear(d_in, 16)
        self.fc2 = nn.Linear(16, d_out)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class MoE(nn.Module):
    def __init__(self, d_in=6, d_out=1, n_experts=4):
        super().__init__()
        self.experts = nn.ModuleList([Expert(d_in, d_out) for _ in range(n_experts)])
        self.gate = nn.Linear(d_in, n_experts)

    def forward(self, x):
        weights = F.softmax(self.gate(x), dim=0)  # guilty
        outs = torch.stack([expert(x) for expert in self.experts], dim=1)
        return (weights.unsqueeze(-1) * outs).sum(dim=1)


def target(x):
    return torch.where(x[:, :1] > 0, x[:, 1:2] + x[:, 2:3], -x[:, 3:4])


x = torch.randn(512, 6)
y = target(x)
x_val = torch.randn(64, 6)
model = MoE()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
losses = []
for epoch in range(6):
    perm = torch.randperm(len(x))
    for start in range(0, len(x), 32):
        idx = perm[start:start + 32]
        loss = F.mse_loss(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

model.eval()
with torch.no_grad():
    val = F.mse_loss(model(x_val), target(x_val)).item()
print(f"first {losses[0]:.4f} last {losses[-1]:.4f} val {val:.4f}")
