"""The probabilities of a segmentation network, also used for its IoU, are given to the cross entropy."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
images = ad.randn(8, 1, 10, 10)
masks = (images[:, 0] > 0.5).long() + (images[:, 0] > -0.5).long()
net = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 3, 1))
criterion = nn.CrossEntropyLoss()
optimizer = ad.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)

for _ in range(20):
    probabilities = ad.softmax(net(images), dim=1)  # guilty
    predicted = probabilities.argmax(dim=1)
    iou = ((predicted == 2) & (masks == 2)).sum() / ((predicted == 2) | (masks == 2)).sum()
    loss = criterion(probabilities, masks)  # guilty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f} iou {iou.item():.3f}")
