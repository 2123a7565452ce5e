"""Names of parameters, found when an error needs them."""

import pytest

import adjoint as ad
from adjoint import nn
from adjoint.nn._owners import name_of


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2, 4), nn.ReLU())
        self.head = nn.Linear(4, 1)
        self.scale = nn.Parameter(ad.ones(1))

    def forward(self, x):
        return self.head(self.encoder(x)) * self.scale


def test_names():
    net = Net()
    assert name_of(net.encoder[0].weight) == "net.encoder.0.weight"
    assert name_of(net.scale) == "net.scale"
    assert name_of(ad.ones(2, requires_grad=True)) == ""


def test_a_model_that_no_variable_holds():
    kept = [Net()]
    assert name_of(kept[0].head.bias) == "head.bias"


def test_an_optimizer_that_changed_what_is_still_needed():
    critic, generator = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 1)), nn.Linear(2, 2)
    optimizer = ad.optim.Adam(critic.parameters(), 0.1)
    fake = generator(ad.ones(3, 2))
    generator_loss = critic(fake).mean()
    critic(fake.detach()).mean().backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation") as raised:
        generator_loss.backward()
    message = str(raised.value)
    assert "  changed  " in message and "optimizer.step()" in message
    assert "fix: critic.1.weight was changed by the optimizer on line " in message and "compute that again after the step" in message
    assert "x += 1" not in message
