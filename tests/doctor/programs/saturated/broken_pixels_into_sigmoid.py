"""Pixels from 0 to 255 go into a sigmoid layer whose weights are not small enough for them."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(3)
images = ad.randint(0, 256, (60, 1, 12, 12)).float()
labels = ad.randint(0, 3, (60,))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(144, 30)
        self.fc2 = nn.Linear(30, 3)
        nn.init.normal_(self.fc1.weight, std=0.5)

    def forward(self, x):
        x = ad.sigmoid(self.fc1(x.flatten(1)))  # guilty
        return self.fc2(x)


net = Net()
opt = ad.optim.SGD(net.parameters(), lr=0.1)
for _ in range(20):
    loss = nn.functional.cross_entropy(net(images), labels)  # guilty
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
