"""Modules and functions to be traced, written once for adjoint and PyTorch: `programs(torch)` makes them with either."""

from __future__ import annotations

import math
import operator
from collections import namedtuple
from typing import Any

Pair = namedtuple("Pair", ["first", "second"])


def expressions(torch: Any) -> dict[str, Any]:
    """Functions of tensors x and y of shape (2, 3)."""
    F = torch.nn.functional

    def operators(x, y):
        return x + y, 1 - x, x * 2.5, x / y, x // 2, x % 2, 2**x, x**2, -x, +x, abs(x), x @ y.T

    def comparisons(x, y):
        return x == y, x != 1, x < y, x <= y, x > 0, x >= y, ~(x > 0), (x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0)

    def items(x, y):
        return x[0], x[:, 1:], x[..., None], x[0, 1], x[x > 0], x[torch.tensor([0, 1])], y[-1][::2]

    def attributes(x, y):
        return x.shape[0] + 1, x.size(0), x.size(), x.dim(), x.T, x.dtype, x.ndim, y.mT

    def sizes(x, y):
        batch, features = x.shape
        return x.view(batch, -1), x.reshape(features, batch), y.expand(batch, features), x.view(x.size(0), 3, 1), x.flatten(1)

    def unpacking(x, y):
        first, second = x.unbind(0)
        left, middle, right = torch.split(y, 1, dim=1)
        return first + second, left, middle * right

    def joins(x, y):
        return torch.cat([x, y], dim=1), torch.cat((x, y)), torch.stack([x, y], dim=-1), torch.hstack([x, y]), torch.cat([x, y], 1)

    def reductions(x, y):
        return (
            torch.sum(x), torch.sum(x, dim=1), x.sum(1), torch.mean(x, dim=(0, 1), keepdim=True), torch.max(x), torch.max(x, dim=1)[0],
            x.max(dim=1).values, torch.std(x), torch.linalg.norm(x), torch.argmax(x, dim=1),
            torch.logsumexp(x, dim=0), torch.amax(x, dim=1), torch.var(x, dim=0, unbiased=False), torch.prod(x, 0), torch.any(x > 0),
        )  # fmt: skip

    def functional(x, y):
        return (
            F.relu(x), F.relu(x, inplace=False), F.gelu(x), F.gelu(x, approximate="tanh"), F.softmax(x, dim=-1), F.log_softmax(x, 1),
            F.silu(x), F.elu(x, 0.5), F.leaky_relu(x, negative_slope=0.1), F.layer_norm(x, (3,)), F.dropout(x, 0.3, training=False),
            F.normalize(x, dim=1), F.pad(x, (1, 1)), F.mse_loss(x, y), F.hardtanh(x), F.softplus(x),
            F.logsigmoid(x), F.tanhshrink(x), F.softsign(x), F.cosine_similarity(x, y, dim=1), F.glu(torch.cat([x, x], 1), dim=1),
            F.smooth_l1_loss(x, y), F.huber_loss(x, y), F.selu(x), F.mish(x), F.celu(x), F.hardswish(x), F.hardsigmoid(x), F.relu6(x),
            F.softmin(x, dim=0), F.one_hot(torch.arange(3)), F.linear(x, y), F.prelu(x, torch.tensor([0.25])),
        )  # fmt: skip

    def functions(x, y):
        return (
            torch.exp(x), torch.exp(input=x), torch.add(x, y, alpha=2), torch.sub(1, y), torch.clamp(x, min=0, max=6), torch.clamp(x, 0.0),
            torch.where(x > 0, x, y), torch.matmul(x, y.t()), torch.transpose(x, 0, 1), torch.permute(x, (1, 0)), torch.unsqueeze(x, dim=0),
            torch.squeeze(x, 0), torch.flatten(x, 1), torch.reshape(x, (3, 2)), torch.chunk(x, 2, dim=0), torch.tanh(x), torch.relu(x),
            torch.sigmoid(x), torch.softmax(x, dim=1), torch.einsum("ij,ij->i", x, y), torch.einsum("ij,ij->i", [x, y]),
            torch.zeros_like(x), torch.ones_like(x),
            torch.full_like(x, 2.0), torch.roll(x, shifts=1, dims=1), torch.flip(x, dims=[0]), torch.tril(x), torch.triu(x, diagonal=1),
            torch.cumsum(x, dim=1), torch.sort(x, dim=1), torch.topk(x, 2), torch.gather(x, 1, torch.zeros(2, 1, dtype=torch.long)),
            torch.masked_fill(x, x > 0, 0.0), torch.bmm(x.unsqueeze(0), y.t().unsqueeze(0)), torch.pow(x, 2), torch.sqrt(torch.abs(x)),
            torch.maximum(x, y), torch.lerp(x, y, 0.5), torch.outer(x[0], y[0]), torch.addmm(x @ y.t(), x, y.t()),
            torch.fft.rfft(x, dim=1), torch.special.erfcx(x), torch.linalg.vector_norm(x, dim=1), torch.repeat_interleave(x, 2, dim=0),
            torch.tensordot(x, y, dims=2), torch.cdist(x, y), torch.meshgrid(x[0], y[0], indexing="ij"), torch.diff(x), torch.numel(x),
        )  # fmt: skip

    def methods(x, y):
        return (
            x.relu(), x.view(-1), x.permute(1, 0), x.transpose(0, 1).contiguous(), x.float(), x.to(torch.float64), x.type_as(y),
            x.masked_fill(y > 0, 0.0), x.mean(dim=[0, 1]), x.clone(), x.detach(), x.repeat(1, 2), x.add(y, alpha=2), x.chunk(3, dim=-1)[1],
            x.pow(2).sum().sqrt(), x.softmax(dim=-1), x.norm(), x.new_zeros(2), x.unsqueeze(-1).squeeze(-1), x.bool().any().item(),
        )  # fmt: skip

    def inplace(x, y):
        x = x.clone()
        x.add_(1)
        x += y
        x *= 2
        torch.relu_(x)
        F.relu(x, inplace=True)
        x.clamp_(max=3.0)
        return x

    def constants(x, y):
        return torch.ones(3) * x, torch.arange(3) + x, x + torch.tensor(2.0), x - torch.eye(2, 3), torch.zeros(2, 3) == x

    def creation(x, y):
        return torch.arange(x.size(0)), torch.ones(x.size()), torch.zeros(x.shape, dtype=torch.float64), torch.full((x.size(0),), 2)

    def nested(x, y):
        return {"a": x + 1, "b": [y, (x * 2, None)], "c": {"d": slice(0, 2, None)}}

    def mathematics(x, y):
        return math.sqrt(x.size(0)), x / math.sqrt(x.shape[1]), math.pi * y

    def keywords(x, y=2.0, *, scale=3, flag: bool = True):
        return x * y + scale

    def annotated(x: torch.Tensor, y: torch.Tensor | None = None) -> torch.Tensor:
        return x + 1

    def variadic(x, *rest, **options):
        return x + rest[0]

    def reused(x, y):
        z = x + y
        z = z + z
        return z * z, torch.add(z, z)

    def unused(x, y):
        torch.exp(x)
        return y

    def names(x, y):
        abs_ = torch.abs(x)
        max_ = torch.max(abs_)
        return max_ + torch.min(y) + torch.sum(abs_, 0) + y.float() + y.type(torch.float64)

    def literals(x, y):
        return x * float("inf"), x + 1j, x.to(torch.device("cpu")), x.sum(dtype=torch.float64), (True, None, "text", ..., torch.float16)

    def namedtuples(x, y):
        return Pair(x, y + 1)

    def operator_functions(x, y):
        return operator.add(x, y), operator.getitem(x, 0), x.shape, operator.neg(x), operator.truediv(x, 2)

    def control(x, y):
        self_evident = True
        for step in range(3):
            x = x * step + y
        return x if self_evident else y

    given = dict(locals())
    return {name: value for name, value in given.items() if callable(value)}


def modules(torch: Any) -> dict[str, Any]:
    """Modules with an input that each takes."""
    nn, F = torch.nn, torch.nn.functional

    class MLP(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(6, 8)
            self.act = nn.GELU()
            self.drop = nn.Dropout(0.5)
            self.fc2 = nn.Linear(8, 3)

        def forward(self, x):
            return self.fc2(self.drop(self.act(self.fc1(x))))

    class Block(nn.Module):
        def __init__(self, inplanes, planes, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.downsample = None
            if stride != 1 or inplanes != planes:
                self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

        def forward(self, x):
            identity = x
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            if self.downsample is not None:
                identity = self.downsample(x)
            out += identity
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
            self.maxpool = nn.MaxPool2d(2)
            self.layer1 = nn.Sequential(Block(4, 4), Block(4, 4))
            self.layer2 = nn.Sequential(Block(4, 8, 2), Block(8, 8))
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(8, 5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.maxpool(F.relu(self.conv1(x)))
            x = self.layer2(self.layer1(x))
            x = torch.flatten(self.avgpool(x), 1)
            return self.fc(x)

    class Attention(nn.Module):
        def __init__(self, dim=8, heads=2):
            super().__init__()
            self.heads = heads
            self.scale = (dim // heads) ** -0.5
            self.qkv = nn.Linear(dim, dim * 3)
            self.proj = nn.Linear(dim, dim)

        def forward(self, x):
            batch, length, dim = x.shape
            qkv = self.qkv(x).reshape(batch, length, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
            q, k, v = qkv.unbind(0)
            attention = (q * self.scale @ k.transpose(-2, -1)).softmax(dim=-1)
            return self.proj((attention @ v).transpose(1, 2).reshape(batch, length, dim))

    class Encoder(nn.Module):
        def __init__(self, dim=8):
            super().__init__()
            self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
            self.register_buffer("positions", torch.linspace(0, 1, 5 * dim).view(1, 5, dim))
            self.blocks = nn.ModuleList([Attention(dim) for _ in range(2)])
            self.norms = nn.ModuleDict({"first": nn.LayerNorm(dim), "last": nn.LayerNorm(dim)})
            self.gamma = nn.Parameter(torch.full((dim,), 0.5))

        def forward(self, x):
            cls = self.cls_token.expand(x.shape[0], -1, -1)
            x = torch.cat((cls, x), dim=1) + self.positions
            x = self.positions * x
            for block in self.blocks:
                x = x + self.gamma * block(self.norms["first"](x))
            return self.norms["last"](x)[:, 0]

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 6)
            self.b = self.a
            self.step = nn.Sequential(self.a, nn.Tanh(), self.a)

        def forward(self, x):
            return self.b(self.step(self.a(x)))

    class Functional(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.linspace(-1, 1, 18).view(3, 6))
            self.bias = nn.Parameter(torch.zeros(3))
            self.plain = torch.ones(3)

        def forward(self, x, train: bool = False):
            x = F.linear(x, self.weight, self.bias)
            x = F.dropout(x, p=0.2, training=self.training)
            return F.layer_norm(x, x.shape[1:]) * self.plain + self.bias

    class Returning(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(6, 2)

        def helper(self, x, factor=2):
            return self.fc(x) * factor

        def forward(self, x):
            y = self.helper(x, factor=3)
            return {"out": y, "aux": [x, y.sum()]}

    class Convolutions(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.SiLU())
            self.squeeze = nn.Conv2d(4, 1, 1)
            self.norm = nn.GroupNorm(2, 4)

        def forward(self, x):
            x = self.stem(x)
            x = x * self.squeeze(F.adaptive_avg_pool2d(x, 1)).sigmoid()
            x = F.interpolate(x, scale_factor=2, mode="nearest")
            x = F.max_pool2d(self.norm(x), 2)
            x = F.avg_pool2d(x, kernel_size=2)
            return x.mean([2, 3])

    class Embedded(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 4)
            self.rnn = nn.GRU(4, 5, batch_first=True)
            self.head = nn.Linear(5, 10)

        def forward(self, tokens):
            out, _ = self.rnn(self.embed(tokens))
            return self.head(out[:, -1])

    torch.manual_seed(0)
    rows, images = torch.rand(4, 6), torch.rand(2, 3, 8, 8)
    return {
        "MLP": (MLP(), rows),
        "ResNet": (ResNet(), images),
        "Attention": (Attention(), torch.rand(2, 4, 8)),
        "Encoder": (Encoder(), torch.rand(2, 4, 8)),
        "Shared": (Shared(), rows),
        "Functional": (Functional(), rows),
        "Returning": (Returning(), rows),
        "Convolutions": (Convolutions(), images),
        "Embedded": (Embedded(), torch.tensor([[1, 2, 3], [4, 5, 6]])),
        "Sequential": (nn.Sequential(nn.Linear(6, 4), nn.Sequential(nn.Tanh(), nn.Linear(4, 2))), rows),
    }
