"""Settings that PyTorch's graphs have. Nothing here shows progress or writes stack traces into code, so there is nothing to turn off."""

disable_progress = True
verbose_progress = False
do_not_emit_stack_traces = False
