"""LLVM in this process: text to object code to addresses of functions."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from .._serving import wanted
from . import cache as disk
from . import image, lowering, target
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
    if not wanted():
        return False
    try:
        target.current()
    except LookupError:
        return False
    try:
        import llvmlite  # noqa: F401  # without its binding, which takes longer to import than a hundred kernels to load

        return works()
    except Exception:  # llvmlite is absent, or may not make memory executable here: NumPy serves
        return False


def works() -> bool:
    """Whether a compiled function gives the right answer."""
    at = load("probe", lambda: "define i64 @probe(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}\n", ["probe"])["probe"]
    return bool(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(at)(41) == 42)


@cache
def machine(effort: int = 3) -> Any:
    chosen = target.current()
    return llvm().Target.from_default_triple().create_target_machine(
        cpu=chosen.name, features=chosen.features, opt=effort, reloc="pic", codemodel="default"
    )


@cache
def compiler() -> Any:
    """JITLink puts code and its constants into one piece of memory. The older linker, which Windows needs, may put them more than 2 GB
    apart in a process with large arrays, and ends the process then."""
    return forever(llvm().create_lljit_compiler(machine(), use_jit_link=sys.platform != "win32"))


@cache
def fingerprint() -> str:
    """Everything that code depends on besides its description: this package's text, the level of CPUs, Python. Not LLVM, which has
    done its work: code that one version has made serves beside that of another."""
    sources = [disk.digest(path.read_bytes()).hex() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return disk.key(*sources, target.identity(), str(sys.implementation.cache_tag))


# How a text is written: LLVM has to find the vectors; they are there; it runs as it stands; it computes nothing, but calls what does.
LOOPS, VECTORS, FINISHED, CALLS = range(4)

thorough = False  # whether code for `CALLS` is to be as good as it can be, although a program waits for it; set by `cache build`


def object_code(text: str, written: int = LOOPS) -> bytes:
    """Machine code. LLVM takes half the time for `VECTORS`, which it does not search for more and does not unroll, a quarter for what
    is `FINISHED`, which it only tidies, and a tenth of that for `CALLS`, which then take 0.1 µs longer to run."""
    binding = llvm()
    module = binding.parse_assembly(text if target.current().fma else lowering.lowered(text))
    module.triple = machine().triple
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=3 if written == LOOPS else 2)
    options.loop_vectorization = True
    options.slp_vectorization = options.loop_unrolling = written == LOOPS
    builder = binding.create_pass_builder(machine(), options)
    if written in (FINISHED, CALLS):
        passes = binding.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    else:
        passes = builder.getModulePassManager()
    passes.run(module, builder)
    return machine(3 if written != CALLS or thorough else 0).emit_object(module)  # type: ignore[no-any-return]


def load(
    description: str, text: Callable[[], str], symbols: list[str], written: int = LOOPS, called: dict[str, int] | None = None
) -> dict[str, int]:
    """The addresses of the functions in `text()`, which is asked for only if the cache has no code for `description`. Functions of other
    texts that it calls come with their addresses."""
    with compiling:
        of = fingerprint()
        better = disk.key(of, description)
        kept = disk.read(of, better)
        name = disk.key(of, description, "soon") if written == CALLS and not thorough else better
        if kept is None and name != better:
            kept = disk.read(of, name)
        if kept is None:
            code = object_code(text(), written)
            linked = image.link(code)
            kept = b"object\n" + code if linked is None else linked.pack()
            disk.write(of, name, kept)
        if kept.startswith(b"object\n"):
            return linked_by_llvm(kept.removeprefix(b"object\n"), name, symbols, called or {})
        return image.place(image.Image.unpack(kept), called or {})


def is_kept(description: str) -> bool:
    """Whether `load` would find the code on disk."""
    with compiling:
        return disk.read(fingerprint(), disk.key(fingerprint(), description)) is not None


def linked_by_llvm(code: bytes, name: str, symbols: list[str], called: dict[str, int]) -> dict[str, int]:
    """The addresses of functions in an object file of any kind."""
    builder = llvm().JITLibraryBuilder().add_object_img(code).add_current_process()  # which has the functions of the C library
    for symbol, address in called.items():
        builder = builder.import_symbol(symbol, address)
    for symbol in symbols:
        builder = builder.export_symbol(symbol)
    library = builder.link(compiler(), f"{name}_{len(_libraries)}")
    _libraries.append(library)
    return {symbol: library[symbol] for symbol in symbols}


def remembered(description: str, find_out: Callable[[], str]) -> str:
    """What `find_out` says about a kernel, which is asked for once per machine: reading a kernel's source takes longer than loading it."""
    with compiling:
        of = fingerprint()
        name = disk.key(of, "fact", description)
        kept = disk.read(of, name)
        if kept is None:
            kept = find_out().encode()
            disk.write(of, name, kept)
        return kept.decode()
