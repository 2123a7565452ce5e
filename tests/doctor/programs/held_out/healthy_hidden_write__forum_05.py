# mean teacher: the teacher is a moving average of the student
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


class Net(nn.Module):
    def __init__(self, d_in=12, d_hidden=32, n_classes=4):
        super().__init__()
        self.fc1 = nn.Linear(d_in, d_hidden)
        self.fc2 = nn.Linear(d_hidden, n_classes)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def update_teacher(student, teacher, decay):
    for p_s, p_t in zip(student.parameters(), teacher.parameters()):
        p_t.data.mul_(decay).add_(p_s.data, alpha=1 - decay)


w = torch.randn(12, 4)
x_lab, x_unl, x_val = torch.randn(128, 12), torch.randn(512, 12), torch.randn(128, 12)
y_lab, y_val = (x_lab @ w).argmax(1), (x_val @ w).argmax(1)

student = Net()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)

first = None
for step in range(100):
    i = torch.randint(0, 128, (32,))
    j = torch.randint(0, 512, (64,))
    sup = F.cross_entropy(student(x_lab[i]), y_lab[i])
    noisy_a = x_unl[j] + 0.1 * torch.randn(64, 12)
    noisy_b = x_unl[j] + 0.1 * torch.randn(64, 12)
    cons = F.mse_loss(student(noisy_a).softmax(dim=1), teacher(noisy_b).softmax(dim=1))
    loss = sup + 0.5 * cons
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_teacher(student, teacher, decay=0.9)
    first = loss.item() if first is None else first

with torch.no_grad():
    acc = (teacher(x_val).argmax(1) == y_val).float().mean().item()
print("loss %.3f -> %.3f, teacher acc %.3f" % (first, loss.item(), acc))
