"""Check that every module of adjoint imports only from its own layer and those above it.

Only imports that run when a module is imported count: those inside functions are late on purpose, those under
`if TYPE_CHECKING:` never run. A package's `__init__` may gather its own submodules, whatever their layer.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

PACKAGE = "adjoint"

# From the foundation up. The longest matching name decides, so `ops.composite` is not in the layer of `ops`.
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "array",
        (
            "__future__",
            "_device",
            "_dtype",
            "_errors",
            "_events",
            "_fork",
            "_homes",
            "_kernels",
            "_layout",
            "_meta",
            "_meta_functions",
            "_narrow",
            "_printing",
            "_quiet",
            "_random",
            "_return_types",
            "_site",
            "_size",
            "_source",
            "_state",
            "_switches",
            "_tracebacks",
            "_unset",
            "_version",
            "_serving",
            "_standing",
        ),
    ),
    ("autograd", ("_compiled_members", "_layer", "_methods", "_overriding", "_tensor", "_watching", "autograd")),
    ("ops", ("ops",)),
    ("composites", ("ops.composite",)),
    (
        "making tensors",
        (
            "_archive",
            "_class_dispatch",
            "_classes",
            "_copies",
            "_copying",
            "_creation",
            "_dlpack",
            "_filling",
            "_from_data",
            "_interop",
            "_legacy",
            "_locations",
            "_numpy_functions",
            "_operator_function",
            "_ops",
            "_schema",
            "_older_files",
            "_pickle",
            "_ranges",
            "_randomness",
            "_records",
            "_sampling",
            "_segments",
            "_serialization",
            "_settings",
            "_sharing",
            "_streams",
            "_absent_device",
            "_symbolic",
            "_tensor_str",
            "_unpickle",
            "_untyped_storage",
            "_utils",
            "storage",
        ),
    ),
    (
        "user packages",
        (
            "_aten_names",
            "_foreach",
            "_subclasses",
            "_opcheck",
            "futures",
            "library",
            "quasirandom",
            "accelerator",
            "amp",
            "ao",
            "backends",
            "compiler",
            "cpu",
            "cuda",
            "distributed",
            "distributions",
            "export",
            "fft",
            "func",
            "functorch",
            "functional",
            "fx",
            "hub",
            "io",
            "jit",
            "_linalg_norms", "linalg",
            "_lobpcg", "_lowrank",
            "_native",
            "_npz",
            "_quantization",
            "_audio",
            "_spectral",
            "_vision",
            "masked",
            "mps",
            "mtia",
            "multiprocessing",
            "onnx",
            "_C",
            "_custom_ops",
            "_dynamo",
            "_functorch",
            "_guards",
            "_prims_common",
            "_subclasses",
            "nested",
            "_higher_order_ops",
            "_inductor",
            "_jit_internal",
            "_vmap_internals",
            "__config__",
            "overrides",
            "profiler",
            "return_types",
            "serialization",
            "signal",
            "nn",
            "optim",
            "quantization",
            "random",
            "sparse",
            "special",
            "testing",
            "torch_version",
            "types",
            "utils",
            "version",
            "xpu",
        ),
    ),
    ("top", ("__main__", "_blame", "_cost", "_doctor", "_explain", "_place", "_reference", "as_torch", "cli", "debugging", "viz")),
    ("public surface", ("", "cli.build", "lab", "learn")),  # which uses the library as programs do
)


def layer_of(module: str) -> int | None:
    """Return the layer's position for a dotted name such as `adjoint.ops.reduce`, None when it is in no layer."""
    name = module.removeprefix(PACKAGE).removeprefix(".")
    while True:
        for position, (_, members) in enumerate(LAYERS):
            if name in members:
                return position
        if "." not in name:
            return None
        name = name.rpartition(".")[0]


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports_at_load(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the import statements that run when the module is loaded."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and is_type_checking(node.test):
            waiting.extend(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def imported_modules(node: ast.Import | ast.ImportFrom, package: str, known: set[str]) -> Iterator[str]:
    """Yield the modules of adjoint that one statement, standing in `package`, imports."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        parents = package.split(".")
        base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
        source = ".".join(filter(None, [base, node.module]))
        # `from .x import y` imports the module x.y when there is one, else a name out of x.
        names = [f"{source}.{alias.name}" if f"{source}.{alias.name}" in known else source for alias in node.names]
    return (name for name in names if name.partition(".")[0] == PACKAGE)


def check(root: Path) -> list[str]:
    """Return one line per violation found in the package that stands in `root`."""
    modules: dict[str, Path] = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path

    problems = []
    for module, path in modules.items():
        place = path.relative_to(root).as_posix()
        own = layer_of(module)
        if own is None:
            problems.append(f"{place}: in no layer; give it one in LAYERS of tools/check_layers.py")
            continue
        is_package = path.name == "__init__.py"
        package = module if is_package else module.rpartition(".")[0]
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for node in imports_at_load(tree):
            for target in imported_modules(node, package, set(modules)):
                other = layer_of(target)
                gathers_own = is_package and target.startswith(module + ".")
                if other is not None and other > own and not gathers_own:
                    problems.append(
                        f"{place}:{node.lineno}: layer '{LAYERS[own][0]}' must not import {target} "
                        f"of layer '{LAYERS[other][0]}'; move the code down or import it inside the function"
                    )
    return problems


def main(arguments: Sequence[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems = check(root)
    print("\n".join(problems) if problems else "Layers: every import points to its own layer or one above it.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
