"""LLVM in this process: text to object code to addresses of functions."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from . import cache as disk
from . import target
from .lifetime import compiling, forever

_libraries: list[Any] = forever([])  # which must live as long as the functions in them


@cache
def llvm() -> Any:
    """llvmlite's binding, initialised for this CPU; ImportError where it is not installed."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@cache
def available() -> bool:
    """Whether kernels can be compiled here."""
    import os

    if os.environ.get("ADJOINT_KERNELS") == "0":
        return False
    try:
        target.current()
    except LookupError:
        return False
    try:
        return works()
    except Exception:  # llvmlite is absent, or may not make memory executable here: NumPy serves
        return False


def works() -> bool:
    """Whether a compiled function gives the right answer."""
    at = load("probe", lambda: "define i64 @probe(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}\n", ["probe"])["probe"]
    return bool(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(at)(41) == 42)


@cache
def machine() -> Any:
    chosen = target.current()
    return llvm().Target.from_default_triple().create_target_machine(
        cpu=chosen.name, features=chosen.features, opt=3, reloc="pic", codemodel="default"
    )


@cache
def compiler() -> Any:
    """JITLink puts code and its constants into one piece of memory. The older linker, which Windows needs, may put them more than 2 GB
    apart in a process with large arrays, and ends the process then."""
    return forever(llvm().create_lljit_compiler(machine(), use_jit_link=sys.platform != "win32"))


@cache
def fingerprint() -> str:
    """Everything that object code depends on besides the formula: this package's text, LLVM, the CPU, Python."""
    binding = llvm()
    sources = [path.read_text() for path in sorted(Path(__file__).parent.glob("*.py"))]
    version = ".".join(map(str, binding.llvm_version_info))
    return disk.key(*sources, version, target.identity(), platform.python_version())


LOOPS, VECTORS, FINISHED = range(3)  # how a text is written: LLVM has to find the vectors; they are there; it runs as it stands


def object_code(text: str, written: int = LOOPS) -> bytes:
    """Machine code. LLVM takes half the time for `VECTORS`, which it does not search for more and does not unroll, and a quarter for what
    is `FINISHED`, which it only tidies."""
    binding = llvm()
    module = binding.parse_assembly(text)
    module.triple = machine().triple
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=3 if written == LOOPS else 2)
    options.loop_vectorization = True
    options.slp_vectorization = options.loop_unrolling = written == LOOPS
    builder = binding.create_pass_builder(machine(), options)
    if written == FINISHED:
        passes = binding.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    else:
        passes = builder.getModulePassManager()
    passes.run(module, builder)
    return machine().emit_object(module)  # type: ignore[no-any-return]


def load(
    description: str, text: Callable[[], str], symbols: list[str], written: int = LOOPS, called: dict[str, int] | None = None
) -> dict[str, int]:
    """The addresses of the functions in `text()`, which is asked for only if the cache has no code for `description`. Functions of other
    texts that it calls come with their addresses."""
    with compiling:
        name = disk.key(fingerprint(), description)
        code = disk.read(name)
        if code is None:
            code = object_code(text(), written)
            disk.write(name, code)
        builder = llvm().JITLibraryBuilder().add_object_img(code).add_current_process()  # which has the functions of the C library
        for symbol, address in (called or {}).items():
            builder = builder.import_symbol(symbol, address)
        for symbol in symbols:
            builder = builder.export_symbol(symbol)
        library = builder.link(compiler(), f"{name}_{len(_libraries)}")
        _libraries.append(library)
        return {symbol: library[symbol] for symbol in symbols}
