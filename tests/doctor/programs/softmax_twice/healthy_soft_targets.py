"""The softmax makes the targets of a distillation, not the input of the cross entropy."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
x = ad.randn(80, 5)
teacher = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 4)).requires_grad_(False)
student = nn.Linear(5, 4)
optimizer = ad.optim.Adam(student.parameters(), lr=0.03)

for _ in range(40):
    targets = ad.softmax(4 * teacher(x), dim=1)
    loss = nn.functional.cross_entropy(student(x), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
