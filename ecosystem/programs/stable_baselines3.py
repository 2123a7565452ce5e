"""stable-baselines3: PPO, A2C, DQN and SAC on small environments, saved and loaded."""

import tempfile
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor


class Line(gym.Env):  # type: ignore[type-arg]
    """Walk along a line towards zero; actions are steps."""

    def __init__(self, continuous: bool = False) -> None:
        self.observation_space = gym.spaces.Box(-10, 10, (2,), np.float32)
        self.action_space = gym.spaces.Box(-1, 1, (1,), np.float32) if continuous else gym.spaces.Discrete(3)
        self.continuous = continuous

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.time = float(self.np_random.uniform(-3, 3)), 0
        return self.seen(), {}

    def seen(self) -> Any:
        return np.array([self.place, self.time / 20], np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place += float(action[0]) if self.continuous else float(action) - 1
        self.time += 1
        return self.seen(), -abs(self.place), False, self.time >= 20, {}


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    agents = {
        "ppo": PPO("MlpPolicy", Line(), n_steps=64, batch_size=32, n_epochs=2, policy_kwargs={"net_arch": [16, 16]}, seed=0, device="cpu"),
        "a2c": A2C("MlpPolicy", Line(), n_steps=8, policy_kwargs={"net_arch": [16, 16]}, seed=0, device="cpu"),
        "dqn": DQN("MlpPolicy", Line(), learning_starts=20, buffer_size=500, policy_kwargs={"net_arch": [16, 16]}, seed=0, device="cpu"),
        "sac": SAC(
            "MlpPolicy", Line(True), learning_starts=20, buffer_size=500, policy_kwargs={"net_arch": [16, 16]}, seed=0, device="cpu"
        ),
    }
    watched = np.array([[1.0, 0.1], [-2.0, 0.5]], np.float32)
    results: dict[str, Any] = {}
    for name, agent in agents.items():
        agent.learn(total_timesteps=128 if name == "ppo" else 60)
        results[f"{name} action"] = np.asarray(agent.predict(watched, deterministic=True)[0], np.float64)
        with tempfile.TemporaryDirectory() as folder:
            agent.save(f"{folder}/agent")
            loaded = type(agent).load(f"{folder}/agent", device="cpu")
        results[f"{name} weights"] = torch.cat([p.detach().flatten() for p in loaded.policy.parameters()])
    line = Line()
    line.reset(seed=1)
    results["reward"] = evaluate_policy(agents["ppo"], Monitor(line), n_eval_episodes=2)[0]
    return results
