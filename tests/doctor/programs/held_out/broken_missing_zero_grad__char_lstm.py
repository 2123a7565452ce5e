"""The call of zero_grad lacks its parentheses, so the gradients of all chunks of text add up."""

import time

import torch
import torch.nn as nn

torch.manual_seed(42)
text = "hello world, this is a small text for a small network. " * 8
chars = sorted(set(text))
char2idx = {c: i for i, c in enumerate(chars)}
encoded = torch.tensor([char2idx[c] for c in text])


class CharLSTM(nn.Module):
    def __init__(self, n_chars, n_hidden=24, n_layers=1):
        super().__init__()
        self.n_hidden = n_hidden
        self.n_layers = n_layers
        self.embed = nn.Embedding(n_chars, 12)
        self.lstm = nn.LSTM(12, n_hidden, n_layers, batch_first=True)
        self.fc = nn.Linear(n_hidden, n_chars)

    def forward(self, x, state):
        out, state = self.lstm(self.embed(x), state)
        return self.fc(out), state

    def init_state(self, batch_size):
        zeros = torch.zeros(self.n_layers, batch_size, self.n_hidden)
        return zeros, zeros.clone()


def get_batches(data, batch_size, seq_len):
    data = data[: len(data) // batch_size * batch_size].view(batch_size, -1)
    for start in range(0, data.shape[1] - seq_len - 1, seq_len):
        yield data[:, start : start + seq_len], data[:, start + 1 : start + seq_len + 1]


net = CharLSTM(len(chars))
criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.8)
started = time.time()
counter = 0
losses = []
for epoch in range(5):
    state = net.init_state(4)
    for inputs, targets in get_batches(encoded, 4, 12):
        counter += 1
        state = tuple(s.detach() for s in state)
        opt.zero_grad
        scores, state = net(inputs, state)
        loss = criterion(scores.reshape(-1, len(chars)), targets.reshape(-1))
        loss.backward()  # guilty
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
elapsed = time.time() - started
print(f"steps {counter} loss {losses[0]:.3f} -> {losses[-1]:.3f} fast {elapsed < 60}")
