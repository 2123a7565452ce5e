"""The rate grows from nothing over ten steps and the first updates are tiny."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(4)
tokens = ad.randint(0, 20, (64, 4))
labels = (tokens[:, 0] > 9).long()
model = nn.Sequential(nn.Embedding(20, 8), nn.Flatten(), nn.Linear(32, 2))
opt = ad.optim.Adam(model.parameters(), lr=3e-2)
scheduler = ad.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, step / 10))
losses = []
for _ in range(50):
    loss = nn.functional.cross_entropy(model(tokens), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    scheduler.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
