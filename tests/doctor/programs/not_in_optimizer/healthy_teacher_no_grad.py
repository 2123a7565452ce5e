"""The teacher is in no optimizer and its parameters require gradients, but it runs under no_grad."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
x = ad.randn(90, 5)
teacher = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 3))
student = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 3))
optimizer = ad.optim.Adam(student.parameters(), lr=0.02)
temperature = 0.5

for epoch in range(40):
    with ad.no_grad():
        soft = nn.functional.softmax(teacher(x) / temperature, dim=1)
    log_student = nn.functional.log_softmax(student(x) / temperature, dim=1)
    loss = nn.functional.kl_div(log_student, soft, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.5f}")
