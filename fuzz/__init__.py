"""A differential fuzzer: random programs, run by adjoint and by PyTorch. How it works is said in program.py and run.py."""
