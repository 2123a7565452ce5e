"""Write docs/coverage.md: every public name of PyTorch, and whether adjoint has it.

`python tools/coverage.py` writes the page from tools/torch_names.txt, which lists PyTorch's names and their parameters, and from adjoint
as it is. `--check` only says whether the page is up to date. `--names` writes the list anew from the PyTorch that is installed.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import textwrap
import types
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
NAMES = ROOT / "tools" / "torch_names.txt"
PAGE = ROOT / "docs" / "coverage.md"
WIDTH = 138

AREAS = (
    "torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.attention", "torch.nn.utils",
    "torch.nn.utils.rnn", "torch.nn.utils.parametrize", "torch.nn.utils.parametrizations", "torch.nn.utils.prune", "torch.optim",
    "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.linalg", "torch.fft", "torch.special", "torch.signal.windows",
    "torch.masked", "torch.autograd", "torch.autograd.functional", "torch.autograd.forward_ad", "torch.autograd.graph", "torch.func",
    "torch.distributions", "torch.distributions.constraints", "torch.distributions.transforms", "torch.distributions.kl",
    "torch.utils", "torch.utils.data", "torch.utils.checkpoint", "torch.utils.dlpack", "torch.random", "torch.amp", "torch.cuda",
    "torch.serialization", "torch.overrides", "torch.testing", "torch.return_types",
)  # fmt: skip

# What the list leaves out, and why. The patterns are matched with whole names, area and all.
LEFT_OUT = (
    ("Quantised tensors", r"torch(\.Tensor)?\.(q(u?int|scheme|_scale|_zero|_per).*|Q.*Storage|.*quanti[sz]e.*|.*quantized.*|int_repr"
     r"|per_(channel|tensor)_.*|choose_qparams.*|fbgemm.*|u?int[1-7]|bits?\d*x?\d*|float[48]_.*|fused_moving_avg.*)"
     r"|torch\.nn\.functional\.(scaled_.*mm|grouped_mm|ScalingType|SwizzleType)"),
    ("Nested tensors", r"torch(\.Tensor)?\.(jagged|to_padded_tensor|.*nested.*)"),
    ("Other devices and their libraries", r"torch(\.Tensor)?\.(cudnn_.*|miopen_.*|.*mkldnn.*|.*vulkan.*|.*xpu.*|.*ipu.*|.*mtia.*|.*maia.*"
     r"|.*xla.*|Acceler.*|.*Stream.*|Event|has_.*|init_num_threads|.*privateuse1.*)|torch\.cuda\.(?!is_available|device_count|manual_seed"
     r"|manual_seed_all|synchronize|empty_cache|amp|is_bf16_supported|is_initialized|current_device|get_device_name).*"),
    ("The interpreter of TorchScript and other parts of the C++ core", r"torch\.([A-Z]\w*Type|Script\w*|AVG|SUM|AggregationType|AliasDb"
     r"|Argument\w*|Benchmark\w*|Block|BufferDict|CallStack|Capsule|Code|CompilationUnit|CompleteArgumentSpec|ConcreteModule\w*"
     r"|DeepCopyMemoTable|DeserializationStorageContext|DisableTorchFunction\w*|DispatchKey\w*|DeviceObjType|ErrorReport"
     r"|ExcludeDispatchKeyGuard|ExecutionPlan|FatalError|FileCheck|FunctionSchema|Future|Gradient|Graph\w*|IODescriptor|JITException"
     r"|LiteScriptModule|LockingLogger|LoggerBase|ModuleDict|Node|NoopLogger|OperatorInfo|PRIVATE_OPS|ParameterDict|PyTorchFile\w+"
     r"|SerializationStorageContext|StaticModule|StorageBase|Tag|ThroughputBenchmark|TracingState|Type|USE_\w+|Use|Value|classproperty"
     r"|compiled_with_cxx11_abi|fork|wait|get_file_path|import_ir_module\w*|merge_type_from\w+|parse_\w+|prepare_multiprocessing\w+"
     r"|profiler_allow\w+|thread_safe_generator|unify_type_list|batch_norm_\w+|slice_inverse|TYPE_CHECKING|\w+Storage)"
     r"|torch\.(utils|autograd)\.(ThroughputBenchmark|cmake_prefix_path|get_cpp_backtrace|set_module|generate_methods\w+)"
     r"|torch\.Tensor\.(slice_inverse|const_data_ptr|storage_type|module_load|record_stream|grad_dtype)|torch\.fft\.Tensor|torch\.linalg\.common_notes|torch\.nn\.functional\.(boolean_dispatch|assert_int_or_pair|BroadcastingList\d|DType|\w+_MODES"
     r"|(has|handle)_torch_function\w*|\w+_notes|TYPE_CHECKING)|torch\.nn\.factory_kwargs|torch\.return_types\.(all_return_types|pytree_register_structseq)"),
    ("Shapes that are not known yet, and control flow for compilers", r"torch\.(sym_.*|Sym\w+|cond|while_loop|vmap_.*)"),
    ("What PyTorch itself has deprecated and emptied", r"torch(\.Tensor)?\.(eig|lstsq|matrix_rank|solve|symeig|volatile|name|reinforce"
     r"|is_distributed|legacy_contiguous_format)|torch\.nn\.(Container|NLLLoss2d|CrossMapLRN2d)"),
)  # fmt: skip
PACKAGES = (
    "- The packages `torch.nested`, `torch.ao`, `torch.quantization`, `torch.jit`, `torch.fx`, `torch.export`,",
    "  `torch.onnx`, `torch.package`, `torch.library`, `torch.mps`, `torch.xpu`, `torch.mtia` and `torch.utils.cpp_extension`.",
)

# Names that are there and do less than PyTorch's, for reasons that a signature does not show.
PARTLY: dict[str, str] = {}


class Entry(NamedTuple):
    """One of PyTorch's names, with the names of its parameters where they are known."""

    name: str
    parameters: tuple[str, ...] | None


# ---- PyTorch's side -----------------------------------------------------------------------------------------------------------------


def module_of(area: str, package: str) -> Any:
    """The module or class of an area: of PyTorch itself, or adjoint's counterpart. None if there is none."""
    path = area.replace("torch", package, 1)
    if path.endswith(".Tensor"):
        return importlib.import_module(package).Tensor
    try:
        return importlib.import_module(path)
    except ImportError:
        return None


def is_public(name: str, value: Any, area: str) -> bool:
    """Whether a name is PyTorch's own: not private, not a module, nothing imported from elsewhere."""
    if name.startswith("_") or isinstance(value, types.ModuleType | str):
        return False
    home = getattr(value, "__module__", None)
    foreign = isinstance(home, str) and not home.startswith("torch") and isinstance(value, type | types.FunctionType)
    return not foreign and not type(value).__module__.startswith("typing")


def names_of(area: str) -> Iterator[str]:
    module = module_of(area, "torch")
    listed = getattr(module, "__all__", None) if area != "torch" else None
    for name in sorted(set(listed or dir(module))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = getattr(module, name, None)
        if listed or is_public(name, value, area):
            yield name


def reason_left_out(name: str) -> str | None:
    return next((reason for reason, pattern in LEFT_OUT if re.fullmatch(pattern, name)), None)


def documented_parameters(name: str, value: Any) -> tuple[str, ...] | None:
    """The parameters that the documentation of a function names; all of its forms together."""
    try:
        given = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        pass
    else:
        if isinstance(value, type) and inspect.signature(value) == inspect.signature(lambda *args, **kwargs: None):
            return None
        return tuple(p.name for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in ("self", "_"))
    found: dict[str, None] = {}
    lines = (value.__doc__ or "").replace("\n    ", " ").split("\n")
    for text in lines[:8]:
        match = re.match(rf"\s*(?:\.\. \w+:: )?(?:torch\.)?{re.escape(name)}\((.*?)\)\s*(?:->|$)", text)
        for part in re.split(r",(?![^(\[]*[)\]])", match[1]) if match else ():
            word = re.fullmatch(r"\s*(?:\w+ )?([A-Za-z_]\w*)\s*(=.*)?", part)
            if word:
                found[word[1]] = None
    return tuple(found) or None


def torch_names() -> str:
    """The text of the list, from the PyTorch that is installed."""
    import torch

    version = torch.__version__.split("+")[0]
    lines = [f"# The public names of PyTorch {version}, with their parameters. Written by tools/coverage.py --names."]
    for area in AREAS:
        lines.append(f"[{area}]")
        module = module_of(area, "torch")
        for name in names_of(area):
            if reason_left_out(f"{area}.{name}"):
                continue
            value = getattr(module, name, None)
            known = documented_parameters(name, value) if callable(value) else None
            lines.append(name if known is None else f"{name}({', '.join(known)})")
    return "\n".join(lines) + "\n"


def read_names() -> dict[str, list[Entry]]:
    areas: dict[str, list[Entry]] = {}
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            entries = areas.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            name, _, rest = line.partition("(")
            entries.append(Entry(name, tuple(filter(None, rest.rstrip(")").split(", "))) if rest else None))
    return areas


# ---- adjoint's side -----------------------------------------------------------------------------------------------------------------


def own_parameters(value: Any) -> set[str] | None:
    """The names of the parameters of a function of adjoint; None where it takes any."""
    from adjoint.ops._generated import SpreadForm

    if isinstance(getattr(value, "__wrapped__", None), SpreadForm):  # sizes one by one, or by name
        return None
    try:
        given = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in given):
        return None
    return {p.name for p in given}


def judged(area: str, entry: Entry) -> tuple[str, str]:
    """present, partly or absent; and for partly what is lacking."""
    full = f"{area}.{entry.name}"
    module = module_of(area, "adjoint")
    try:
        value = getattr(module, entry.name)
    except (AttributeError, ImportError, RuntimeError):
        is_there = module is not None and entry.name in dir(module) and area == "torch.Tensor"
        return ("present", "") if is_there else ("absent", "")
    if full in PARTLY:
        return "partly", PARTLY[full]
    if entry.parameters is None or not callable(value) or area == "torch.return_types" or entry.name in ("arctanh_", "atanh_"):
        return "present", ""  # (of the last two PyTorch's documentation names a parameter that they do not have)
    own = own_parameters(value)
    if own is None:
        return "present", ""
    wanted = [name for name in entry.parameters if not name.startswith("_")]
    # Documentation and function disagree about names in PyTorch itself, so what counts is how many there are, and whether `out` is.
    lacking = [name for name in wanted if name not in own and name not in ("self", "input")]
    if "out" in lacking:
        return "partly", "without out"
    own -= {"self", "out"}
    enough = len(own) - (area == "torch.Tensor") >= len([name for name in wanted if name not in ("self", "out")])
    return ("present", "") if enough or not lacking else ("partly", f"without {', '.join(lacking)}")


# ---- the page -----------------------------------------------------------------------------------------------------------------------

HEADER = """\
# Coverage of PyTorch's API

Every public name of PyTorch 2.13, by area, and whether adjoint has it. *Partly* means that parameters are missing which PyTorch documents,
or what the table says. Written by `python tools/coverage.py` from `tools/torch_names.txt`; a test compares this page with what the
tool gives.

Not listed, because adjoint does not aim at it:

"""


def paragraph(names: Sequence[str]) -> list[str]:
    return textwrap.wrap(", ".join(f"`{name}`" for name in names), WIDTH, break_long_words=False, break_on_hyphens=False) if names else []


def section(area: str, entries: Sequence[Entry], states: dict[str, tuple[str, str]]) -> list[str]:
    by_state = {state: [e.name for e in entries if states[e.name][0] == state] for state in ("present", "partly", "absent")}
    lines = [f"## {area}", ""]
    if by_state["absent"]:
        lines += ["Absent:", "", *paragraph(by_state["absent"]), ""]
    if by_state["partly"]:
        lines += ["| partly | what is lacking |", "|---|---|", *(f"| `{name}` | {states[name][1]} |" for name in by_state["partly"]), ""]
    if by_state["present"]:
        names = by_state["present"]
        lines += [f"<details><summary>Present: {len(names)}</summary>", "", *paragraph(names), "", "</details>", ""]
    return lines


def page() -> str:
    areas = read_names()
    judgements = {area: {entry.name: judged(area, entry) for entry in entries} for area, entries in areas.items()}
    lines = [f"- {reason}." for reason, _ in LEFT_OUT] + [*PACKAGES, "- Private names."]
    lines += ["", "| area | names | present | partly | absent | present or partly |", "|---|---|---|---|---|---|"]
    totals = [0, 0, 0]
    for area, states in judgements.items():
        counts = [sum(state == wanted for state, _ in states.values()) for wanted in ("present", "partly", "absent")]
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        lines.append(row(area, counts))
    lines += [row("**all**", totals), ""]
    for area, entries in areas.items():
        lines += section(area, entries, judgements[area])
    return HEADER + "\n".join(lines).rstrip() + "\n"


def row(area: str, counts: Sequence[int]) -> str:
    total = sum(counts)
    share = f"{100 * (counts[0] + counts[1]) / total:.0f} %" if total else "-"
    return f"| {area} | {total} | {counts[0]} | {counts[1]} | {counts[2]} | {share} |"


def main(arguments: Sequence[str]) -> int:
    if "--names" in arguments:
        NAMES.write_text(torch_names(), encoding="utf-8")
        return 0
    wanted = page()
    if "--check" not in arguments:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted:
        print("Coverage: docs/coverage.md is up to date.")
        return 0
    print("docs/coverage.md is not what adjoint has now: run python tools/coverage.py")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
