"""PyTorch's `torch.mps`, as it answers where there is no such GPU."""

from ._absent_device import absent

absent(
    globals(),
    "MPS",
    "current_allocated_memory device_count driver_allocated_memory empty_cache get_rng_state is_available manual_seed "
    "recommended_max_memory seed set_per_process_memory_fraction set_rng_state synchronize",
    RuntimeError,
)
