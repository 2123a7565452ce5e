"""Windows of sensors are cut from one activity after the other and read in that order."""
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset

ACTIVITIES = ("walk", "run", "sit", "stairs")


class Recording(Dataset):
    """Windows of one recording, all of the same activity."""

    def __init__(self, activity, windows=36, length=12):
        self.label = ACTIVITIES.index(activity)
        t = torch.arange(windows * length).float()
        signal = torch.stack([torch.sin(t * 0.3 * (self.label + 1)), torch.cos(t * 0.2) * self.label * 0.3], dim=1)
        self.windows = (signal + 0.3 * torch.randn_like(signal)).view(windows, length, 2)

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, index):
        return self.windows[index], self.label


def collate(samples):
    windows = torch.stack([w for w, _ in samples])
    labels = torch.tensor([label for _, label in samples])
    return (windows - windows.mean(1, keepdim=True)).transpose(1, 2), labels


class ActivityNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(2, 12, 5, padding=2)
        self.conv2 = nn.Conv1d(12, 12, 3, padding=1)
        self.fc = nn.Linear(12, len(ACTIVITIES))

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x)).amax(2)
        return self.fc(x)


torch.manual_seed(21)
recordings = ConcatDataset([Recording(name) for name in ACTIVITIES])
train_loader = DataLoader(recordings, batch_size=12, collate_fn=collate)  # guilty
check_loader = DataLoader(recordings, batch_size=72, collate_fn=collate)
model = ActivityNet()
criterion = nn.CrossEntropyLoss(weight=torch.ones(len(ACTIVITIES)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
for epoch in range(10):
    for windows, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(windows), labels)
        loss.backward()
        optimizer.step()

model.eval()
with torch.no_grad():
    hits = sum((model(w).argmax(1) == y).sum().item() for w, y in check_loader)
print(hits / len(recordings))
