"""torchrl: a policy, a value, advantages and the losses of PPO and DQN on made-up data, and a replay buffer."""

from typing import Any

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import Categorical, LazyTensorStorage, TensorDictReplayBuffer
from torchrl.modules import ProbabilisticActor, QValueActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss, DQNLoss
from torchrl.objectives.value import GAE


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4), NormalParameters())
    policy = ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=["loc", "scale"]),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        return_log_prob=True,
    )
    value = ValueOperator(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)), in_keys=["observation"])
    data = TensorDict({"observation": torch.randn(1, 10, 4)}, [1, 10])
    with torch.no_grad():
        policy(data)
    ended = torch.zeros(1, 10, 1, dtype=torch.bool)
    after = {"observation": torch.randn(1, 10, 4), "reward": torch.randn(1, 10, 1), "done": ended, "terminated": ended}
    data["next"] = TensorDict(after, [1, 10])
    GAE(gamma=0.99, lmbda=0.95, value_network=value)(data)
    losses = ClipPPOLoss(policy, value)(data)
    total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
    total.backward()

    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(20), batch_size=5)
    buffer.extend(data.select("observation", "next").reshape(-1))
    torch.manual_seed(1)
    drawn = buffer.sample()["observation"]

    actor = QValueActor(nn.Linear(4, 3), spec=Categorical(3), action_space="categorical")
    criterion = DQNLoss(actor, action_space="categorical", delay_value=True)
    criterion.make_value_estimator(gamma=0.9)
    choice = TensorDict({"observation": torch.randn(6, 4), "action": torch.randint(0, 3, (6,))}, [6])
    stopped = torch.zeros(6, 1, dtype=torch.bool)
    choice["next"] = TensorDict(
        {"observation": torch.randn(6, 4), "reward": torch.randn(6, 1), "done": stopped, "terminated": stopped}, [6]
    )
    return {
        "action": data["action"],
        "advantage": data["advantage"],
        "losses": [losses["loss_objective"], losses["loss_critic"], losses["loss_entropy"]],
        "gradient": net[0].weight.grad,
        "drawn": drawn,
        "q": criterion(choice)["loss"],
    }


class NormalParameters(nn.Module):
    """Halves of the last dimension as a mean and a positive scale."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, scale = x.chunk(2, dim=-1)
        return mean, nn.functional.softplus(scale) + 1e-3
