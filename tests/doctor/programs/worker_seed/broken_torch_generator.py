"""A generator seeded in the constructor crops at the same places in both workers."""
import adjoint as ad
from adjoint import nn
from adjoint.utils.data import DataLoader, Dataset


class RandomWindows(Dataset):
    def __init__(self, series, length, count):
        self.series, self.length, self.count = series, length, count
        self.generator = ad.Generator().manual_seed(7)  # guilty

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        start = ad.randint(0, len(self.series) - self.length, (1,), generator=self.generator).item()  # guilty
        window = self.series[start:start + self.length]
        return window[:-1], window[-1:]


ad.manual_seed(3)
series = ad.sin(ad.arange(300) * 0.2)
loader = DataLoader(RandomWindows(series, 9, 60), batch_size=6, num_workers=2)
model = nn.Linear(8, 1)
opt = ad.optim.Adam(model.parameters(), lr=1e-2)
starts = []
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    starts.append(round(x.sum().item(), 4))
print(len(starts), len(set(starts)))
