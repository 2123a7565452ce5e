# big batches on a small card: 4 micro batches of 16
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(19)
ACCUM_STEPS = 4


class TextCNN(nn.Module):
    def __init__(self, vocab=24, d=12, n_classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.conv = nn.Conv1d(d, 24, kernel_size=3, padding=1)
        self.fc = nn.Linear(24, n_classes)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        return self.fc(F.relu(self.conv(x)).amax(dim=2))


def make(n):
    y = torch.randint(0, 3, (n,))
    ids = torch.randint(0, 24, (n, 10))
    ids[:, 3] = y * 8 + torch.randint(0, 8, (n,))
    ids[:, 6] = y * 8 + torch.randint(0, 8, (n,))
    ids[:, 8] = y * 8 + torch.randint(0, 8, (n,))
    return ids, y


train_loader = DataLoader(TensorDataset(*make(512)), batch_size=16, shuffle=True)
ids_val, y_val = make(128)
model = TextCNN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(6):
    model.train()
    running = 0.0
    optimizer.zero_grad()
    for i, (ids, y) in enumerate(train_loader):
        loss = F.cross_entropy(model(ids), y)
        loss.backward()  # guilty
        running += loss.item()
        if (i + 1) % ACCUM_STEPS == 0:
            optimizer.step()
            optimizer.zero_grad()

model.eval()
with torch.no_grad():
    acc = (model(ids_val).argmax(1) == y_val).float().mean().item()
print("train loss %.3f val acc %.3f" % (running / len(train_loader), acc))
