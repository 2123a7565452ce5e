"""adjoint measured against PyTorch in one process: `./dev bench`, or `python -m benchmarks --help`.

Every public module of this folder holds cases. A case is written once, as a function of the library.
"""
