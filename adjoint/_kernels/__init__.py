"""Kernels: elementwise formulas compiled by LLVM for the CPU at hand.

An op's forward and its derivative rules are NumPy code. Run on symbols instead of arrays (`expr.py`) they yield their own formulas, from
which one pass over memory is compiled (`emit.py`, `maths.py`, `jit.py`) and called at a tenth of the cost of a NumPy function
(`builtin.py`, `entry.py`). Nothing here is imported before an op has been used enough to pay for it, and everything works without llvmlite.
"""
