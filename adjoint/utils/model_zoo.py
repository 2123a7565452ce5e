"""PyTorch's `torch.utils.model_zoo`: see `adjoint.hub`."""

from typing import Any

from ..hub import _get_torch_home
from ..hub import download_url_to_file as _download_url_to_file
from ..hub import load_state_dict_from_url as load_url

__all__ = ["_download_url_to_file", "_get_torch_home", "load_url"]


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        from ..hub import tqdm

        return tqdm
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
