"""PyTorch's `torch.xpu`, as it answers where there is no such GPU."""

from ._absent_device import absent, device, device_of, stream

__all__ = ["device", "device_of", "stream"]

absent(
    globals(),
    "XPU",
    "current_device current_stream device_count empty_cache get_arch_list get_device_capability get_device_name get_device_properties "
    "get_rng_state get_rng_state_all init initial_seed is_available is_bf16_supported is_current_stream_capturing is_initialized "
    "manual_seed manual_seed_all max_memory_allocated max_memory_reserved mem_get_info memory_allocated memory_reserved memory_stats "
    "reset_accumulated_memory_stats reset_peak_memory_stats seed seed_all set_device set_rng_state set_rng_state_all set_stream "
    "synchronize",
)
