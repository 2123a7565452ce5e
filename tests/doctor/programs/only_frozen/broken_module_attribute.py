"""The layers are thawed by an attribute of the module, which has no effect on its parameters."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
prompt = nn.Parameter(ad.zeros(4))
model = nn.Sequential(nn.Linear(10, 16), nn.GELU(), nn.Linear(16, 2))
model.requires_grad_(False)  # guilty

x = ad.randn(60, 6)
y = (x[:, 0] * x[:, 1] > 0).long()
prompt_optimizer = ad.optim.Adam([prompt], lr=0.05)


def run(optimizer, steps):
    for _ in range(steps):
        inputs = ad.cat([prompt.expand(60, 4), x], dim=1)
        loss = nn.functional.cross_entropy(model(inputs), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


run(prompt_optimizer, 10)
model.requires_grad = True
model_optimizer = ad.optim.Adam(model.parameters(), lr=0.01)  # guilty
print(f"{run(model_optimizer, 20):.4f}")
