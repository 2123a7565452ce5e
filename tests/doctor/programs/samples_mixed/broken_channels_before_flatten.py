"""The features of a CNN are permuted with the batch at the end and then flattened back to the batch, which mixes images."""
import adjoint as ad
from adjoint import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(64, 2)

    def forward(self, images):
        h = ad.relu(self.conv(images))
        h = h.permute(1, 2, 3, 0)
        h = h.reshape(images.shape[0], -1)  # guilty
        return self.fc(h)


ad.manual_seed(3)
images = ad.randn(32, 1, 6, 6)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()
net = Net()
opt = ad.optim.SGD(net.parameters(), lr=0.1)
for _ in range(25):
    loss = nn.functional.cross_entropy(net(images), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
