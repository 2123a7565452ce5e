"""torch-fidelity: distances between sets of images, with a feature extractor of our own in place of a downloaded one."""

from typing import Any

import torch
from torch.utils.data import Dataset
from torch_fidelity import calculate_metrics, register_feature_extractor
from torch_fidelity.feature_extractor_base import FeatureExtractorBase


class Pictures(Dataset):  # type: ignore[type-arg]
    def __init__(self, seed: int) -> None:
        self.data = torch.randint(0, 256, (64, 3, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.data[index]


class Random(FeatureExtractorBase):
    """Random convolutions."""

    def __init__(self, name: str, features_list: Any, **options: Any) -> None:
        super().__init__(name, features_list)
        self.convolution = torch.nn.Conv2d(3, 12, 5, stride=4)
        generator = torch.Generator().manual_seed(5)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(generator=generator)
                parameter.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (self.convolution(x.float() / 255).relu().mean(dim=(2, 3)),)

    @staticmethod
    def get_provided_features_list() -> tuple[str, ...]:
        return ("pooled",)

    @staticmethod
    def get_default_feature_layer_for_metric(metric: str) -> str:
        return "pooled"

    @staticmethod
    def can_be_compiled() -> bool:
        return True

    @staticmethod
    def get_dummy_input_for_compile() -> torch.Tensor:
        return torch.zeros(1, 3, 16, 16, dtype=torch.uint8)


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    register_feature_extractor("random", Random)
    found = calculate_metrics(
        input1=Pictures(1),
        input2=Pictures(2),
        feature_extractor="random",
        fid=True,
        kid=True,
        prc=True,
        isc=False,
        kid_subset_size=32,
        kid_subsets=4,
        batch_size=16,
        cuda=False,
        verbose=False,
        cache=False,
        save_cpu_ram=True,
    )
    return {name: float(value) for name, value in found.items()}
