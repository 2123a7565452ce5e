"""The test loop at the end forgets model.eval(), so the accuracy that is reported depends on dropout."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TransformerClassifier(nn.Module):
    def __init__(self, vocab, width=16, classes=3, max_len=8):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Parameter(torch.zeros(max_len, width))
        layer = nn.TransformerEncoderLayer(width, 2, 24, dropout=0.3, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(width, classes)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions[: ids.shape[1]]
        return self.out(self.encoder(x).mean(dim=1))


def train(args, model, loader, optimizer):
    model.train()
    correct = 0
    for ids, labels in loader:
        optimizer.zero_grad()
        logits = model(ids)
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        correct += (logits.argmax(1) == labels).sum().item()
    return correct / len(loader.dataset)


def test(model, loader):
    test_loss, correct = 0.0, 0
    with torch.no_grad():
        for ids, labels in loader:
            output = model(ids)  # guilty
            test_loss += F.cross_entropy(output, labels, reduction="sum").item()
            correct += (output.argmax(1) == labels).sum().item()
    return test_loss / len(loader.dataset), correct / len(loader.dataset)


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--clip", type=float, default=1.0)
args = parser.parse_args([])
torch.manual_seed(0)
ids = torch.randint(0, 12, (96, 8))
labels = F.one_hot(ids % 3, 3).sum(1).argmax(1)
train_loader = DataLoader(TensorDataset(ids[:72], labels[:72]), batch_size=18, shuffle=True)
test_loader = DataLoader(TensorDataset(ids[72:], labels[72:]), batch_size=24)
model = TransformerClassifier(12)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for epoch in range(1, args.epochs + 1):
    train_accuracy = train(args, model, train_loader, optimizer)
test_loss, accuracy = test(model, test_loader)
print(f"train accuracy {train_accuracy:.2f}, test loss {test_loss:.3f}, accuracy {accuracy:.2f}")
