"""Energies from 0 to 400 go into the network without scaling, and it ends at guessing."""
import adjoint as ad
from adjoint import nn


class Audio(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc_in = nn.Linear(12, 32)
        self.fc_mid = nn.Linear(32, 32)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        h = ad.relu(self.fc_in(x.mean(1)))
        return self.out(ad.relu(self.fc_mid(h)))


ad.manual_seed(3)
spectra = ad.rand(60, 9, 12) * 400
labels = ad.randint(0, 3, (60,))
model = Audio()
opt = ad.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
losses = []
for _ in range(30):
    loss = nn.functional.cross_entropy(model(spectra), labels)  # guilty
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
