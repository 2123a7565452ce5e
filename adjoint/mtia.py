"""PyTorch's `torch.mtia`, as it answers where there is no such accelerator."""

from ._absent_device import absent, device, stream

__all__ = ["device", "stream"]

absent(
    globals(),
    "MTIA",
    "current_device current_stream default_stream device_count empty_cache get_device_capability get_device_properties get_rng_state "
    "get_rng_state_all init initial_seed is_available is_bf16_supported is_initialized manual_seed manual_seed_all max_memory_allocated "
    "memory_allocated memory_stats reset_peak_memory_stats seed seed_all set_device set_rng_state set_rng_state_all set_stream synchronize",
    RuntimeError,
)
