"""Programs that train in several processes, in the ways that are common: image classification with a sampler, meters and checkpoints, and
a language model with a trainer that resumes from snapshots. The same text runs on PyTorch and on adjoint."""

import json
import math
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

# ---- images -------------------------------------------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, given, made, stride=1):
        super().__init__()
        self.one, self.norm = nn.Conv2d(given, made, 3, stride, 1, bias=False), nn.BatchNorm2d(made)
        self.two, self.norm2 = nn.Conv2d(made, made, 3, 1, 1, bias=False), nn.BatchNorm2d(made)
        self.short = nn.Sequential(nn.Conv2d(given, made, 1, stride, bias=False), nn.BatchNorm2d(made)) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = self.norm2(self.two(F.relu(self.norm(self.one(x)), inplace=True)))
        y += self.short(x)
        return F.relu(y)


def resnet():
    stem = [nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
    model = nn.Sequential(*stem, Block(8, 8), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model


class Meter:
    def __init__(self):
        self.sum = self.count = 0.0

    def update(self, value, n):
        self.sum += value * n
        self.count += n

    def all_reduce(self):
        both = torch.tensor([self.sum, self.count])
        dist.all_reduce(both, dist.ReduceOp.SUM, async_op=False)
        self.sum, self.count = both.tolist()


def images(count, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(4, (count,), generator=generator)
    return TensorDataset(torch.randn(count, 3, 12, 12, generator=generator) + labels.view(-1, 1, 1, 1) * 0.3, labels)


def accuracy(output, target):
    _, guess = output.topk(1, 1, True, True)
    return guess.t().eq(target.view(1, -1)).reshape(-1).float().mean().item()


def validate(loader, model, criterion, world):
    losses, hits = Meter(), Meter()

    def run(batches):
        with torch.no_grad():
            for pictures, target in batches:
                output = model(pictures)
                losses.update(criterion(output, target).item(), len(target))
                hits.update(accuracy(output, target), len(target))

    model.eval()
    run(loader)
    losses.all_reduce()
    hits.all_reduce()
    seen = len(loader.sampler) * world
    if seen < len(loader.dataset):  # what is left over when samples do not divide evenly
        run(DataLoader(Subset(loader.dataset, range(seen, len(loader.dataset))), batch_size=4))
    return losses.sum / losses.count, hits.sum / hits.count


def classify(folder):
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = DDP(resnet())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    train, test = images(70, 0), images(37, 1)
    sampler, test_sampler = DistributedSampler(train), DistributedSampler(test, shuffle=False, drop_last=True)
    loader = DataLoader(train, batch_size=8, shuffle=False, sampler=sampler)
    test_loader = DataLoader(test, batch_size=8, sampler=test_sampler)
    best, found, path = 0.0, [], Path(folder, "best.pt")
    for epoch in range(2):
        sampler.set_epoch(epoch)
        model.train()
        for pictures, target in loader:
            loss = criterion(model(pictures), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        found += validate(test_loader, model, criterion, world)
        scheduler.step()
        if rank == 0 and found[-1] > best:
            best = found[-1]
            torch.save({"epoch": epoch, "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    dist.barrier()
    saved = torch.load(path, map_location={"cuda:0": f"cuda:{rank}"})
    again = DDP(resnet())
    again.load_state_dict(saved["state_dict"])
    found += validate(test_loader, again, criterion, world)
    return found


# ---- language -----------------------------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width, heads, block):
        super().__init__()
        self.all, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.drop = nn.Dropout(0.1)
        self.register_buffer("mask", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in self.all(x).split(c, dim=2))
        weights = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        weights = F.softmax(weights.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")), dim=-1)
        return self.drop(self.out((weights @ v).transpose(1, 2).contiguous().view(b, t, c)))


class Layer(nn.Module):
    def __init__(self, width, heads, block):
        super().__init__()
        self.norm, self.norm2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, heads, block)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary=20, width=16, heads=2, block=12):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Parameter(torch.zeros(1, block, width))
        self.layers = nn.Sequential(*[Layer(width, heads, block) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, indices, targets):
        logits = self.head(self.norm(self.layers(self.tokens(indices) + self.places[:, : indices.size(1)])))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


class Characters(Dataset):
    def __init__(self, block=12):
        self.data, self.block = torch.randint(20, (80,), generator=torch.Generator().manual_seed(3)), block

    def __len__(self):
        return len(self.data) - self.block

    def __getitem__(self, i):
        return self.data[i : i + self.block], self.data[i + 1 : i + self.block + 1]


class Trainer:
    def __init__(self, folder, accumulate):
        torch.manual_seed(0)
        model = GPT()
        wide, narrow = [p for p in model.parameters() if p.dim() > 1], [p for p in model.parameters() if p.dim() < 2]
        groups = [{"params": wide, "weight_decay": 0.1}, {"params": narrow, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))
        self.scaler = torch.amp.GradScaler("cpu")
        self.path, self.accumulate, self.epoch = Path(folder, "snapshot.pt"), accumulate, 0
        if self.path.exists():
            saved = torch.load(self.path, map_location="cpu")
            model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.epoch = saved["epoch"]
        self.model = DDP(model)
        data = Characters()
        self.loader = DataLoader(data, batch_size=8, shuffle=False, sampler=DistributedSampler(data))

    def run(self, epochs):
        losses = []
        for epoch in range(self.epoch, epochs):
            self.loader.sampler.set_epoch(epoch)
            for step, (source, targets) in enumerate(self.loader):
                last = (step + 1) % self.accumulate == 0 or step + 1 == len(self.loader)
                self.model.require_backward_grad_sync = last
                _, loss = self.model(source, targets)
                self.scaler.scale(loss / self.accumulate).backward()
                losses.append(loss.item())
                if last:
                    self.scaler.unscale_(self.optimizer)
                    losses.append(nn.utils.clip_grad_norm_(self.model.parameters(), 1.0).item())
                    self.scaler.step(self.optimizer)
                    self.scaler.update()
                    self.optimizer.zero_grad(set_to_none=True)
            if dist.get_rank() == 0:
                whole = {"model": self.model.module.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": epoch + 1}
                torch.save(whole, self.path)
            dist.barrier()
        return losses


def write(folder):
    return Trainer(folder, 1).run(1) + Trainer(folder, 2).run(3)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    box = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    results = {"classify": classify(box[0]), "write": write(box[0])}
    Path(f"{sys.argv[1]}.{dist.get_rank()}").write_text(json.dumps(results))
    dist.destroy_process_group()
