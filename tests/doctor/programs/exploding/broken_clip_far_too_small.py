"""The clip at 0.001 lies far below every gradient, so that only the direction is left and the network hardly moves."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
images = torch.randn(64, 1, 8, 8)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 36, 2)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).flatten(1))


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(110):
    batch = torch.randint(0, 64, (16,))
    loss = F.cross_entropy(net(images[batch]), labels[batch])
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1e-3)  # guilty
    opt.step()
print(loss.item())
