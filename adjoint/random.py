"""PyTorch's `torch.random`: the default generator by another name."""

from ._sampling import default_generator as default_generator
from ._sampling import fork_rng as fork_rng
from ._sampling import get_rng_state as get_rng_state
from ._sampling import initial_seed as initial_seed
from ._sampling import manual_seed as manual_seed
from ._sampling import seed as seed
from ._sampling import set_rng_state as set_rng_state
