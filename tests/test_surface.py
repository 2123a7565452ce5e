"""Names that libraries import besides the documented ones: they do what they do in PyTorch, or say that they do not."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import warnings
from typing import Optional

import pytest
from adjoint.utils.data.datapipes.iter import Batcher, IterableWrapper

import adjoint as ad
from adjoint import nn
from adjoint._homes import settle
from adjoint._standing import standing_of
from adjoint.utils.data import DataLoader, IterDataPipe, functional_datapipe

# ---- modules that have the names of others -----------------------------------------------------------------------------------------


def test_a_gathered_module_has_the_names_of_its_sources_and_no_others():
    from adjoint.nn.modules import conv

    assert conv.Conv2d is nn.Conv2d and "Conv2d" in dir(conv)
    with pytest.raises(AttributeError, match=r"module 'adjoint.nn.modules.conv' has no attribute 'Conv9d'"):
        _ = conv.Conv9d
    with pytest.raises(ImportError):
        from adjoint.nn.modules.conv import Conv9d  # noqa: F401
    scope: dict[str, object] = {}
    exec("from adjoint.nn.modules.conv import *", scope)
    assert scope["Conv2d"] is nn.Conv2d


def test_modules_settle_below_each_other():
    import sys

    settle("adjoint.nn.modules", {"made_up": ("conv",), "made_up.below": ("linear",)}, within="adjoint.nn")
    try:
        from adjoint.nn.modules.made_up.below import Linear

        assert Linear is nn.Linear
    finally:
        for name in ("adjoint.nn.modules.made_up.below", "adjoint.nn.modules.made_up"):
            del sys.modules[name]
        del nn.modules.made_up


# ---- optimizers that wrap others ----------------------------------------------------------------------------------------------------


class Wrapping(ad.optim.Optimizer):
    def __init__(self, optimizer):
        self.optimizer = optimizer  # and no super().__init__()

    def step(self, closure=None):
        return self.optimizer.step(closure)


def test_an_optimizer_that_wraps_another_needs_no_super_init():
    w = nn.Parameter(ad.ones(1))
    inner = ad.optim.SGD([w], lr=0.5)
    steps = []
    inner.register_step_post_hook(lambda *_: steps.append(w.item()))
    w.sum().backward()
    Wrapping(inner).step()
    assert w.item() == 0.5 and steps == [0.5]


# ---- compile ------------------------------------------------------------------------------------------------------------------------


def test_a_compiled_module_is_the_module_under_another_name():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    compiled = ad.compile(model)
    assert isinstance(compiled, ad._dynamo.OptimizedModule) and compiled._orig_mod is model
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert compiled.eval() is compiled and not model.training and not compiled.training
    x = ad.ones(1, 2)
    assert ad.equal(compiled(x), model(x))
    compiled.note = "n"
    assert model.note == compiled.note == "n"
    del compiled.note
    assert not hasattr(model, "note")
    other = copy.deepcopy(compiled)
    assert other._orig_mod is not model and ad.equal(other(x), model(x))
    assert ad.compile(model, disable=True) is model and ad.compile(len) is len


def test_dynamo_leaves_functions_as_they_are():
    from adjoint._dynamo.eval_frame import OptimizedModule
    from adjoint._dynamo.utils import is_compile_supported

    assert OptimizedModule is ad._dynamo.OptimizedModule and not is_compile_supported("cpu") and not ad._dynamo.is_compiling()
    assert ad._dynamo.disable(len) is len and ad._dynamo.allow_in_graph(len) is len and ad._dynamo.optimize()(len) is len
    assert standing_of(ad._dynamo.mark_dynamic).kind == "inert"
    with pytest.raises(NotImplementedError, match=r"torch.explain\(tensor\)"):
        ad._dynamo.explain(len)(1)


def test_settings_of_what_is_not_there_are_kept():
    from adjoint._dynamo import config

    before = config.cache_size_limit
    with config.patch(cache_size_limit=3, verbose=True):
        assert config.cache_size_limit == 3 and config.verbose
    assert config.cache_size_limit == before and not config.verbose
    with pytest.raises(AttributeError, match=r"config.nonsense does not exist"):
        config.nonsense = 1
    assert not hasattr(ad._inductor.config, "nonsense") and ad._inductor.list_mode_options("default") == {}


# ---- jit ----------------------------------------------------------------------------------------------------------------------------


def test_ordinary_modules_are_no_script_modules():
    model = nn.Linear(1, 1)
    assert not isinstance(model, ad.jit.ScriptModule) and issubclass(ad.jit.RecursiveScriptModule, ad.jit.ScriptModule)
    assert not isinstance(ad.jit.script(len), ad.jit.ScriptFunction)
    assert ad._jit_internal._overload_method(len) is len


def test_jit_isinstance_looks_at_elements():
    assert ad.jit.isinstance([], list[int]) and ad.jit.isinstance({"a": (1, "b")}, dict[str, tuple[int, str]])
    assert ad.jit.isinstance(None, Optional[int]) and ad.jit.isinstance(1, (str, int)) and not ad.jit.isinstance([1, "a"], list[int])  # noqa: UP045
    assert not ad.jit.isinstance((1,), tuple[int, int]) and ad.jit.annotations.BroadcastingList2[int] is None


def test_boolean_dispatch():
    choose = ad._jit_internal.boolean_dispatch("flag", 1, False, lambda x, flag: -x, lambda x, flag=False: x, __name__, "choose")
    assert [choose(1), choose(1, True), choose(1, flag=True)] == [1, -1, -1] and choose.__name__ == "choose"


def test_tracer_warnings_can_be_ignored():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ad.jit.TracerWarning)


# ---- the compiled module ------------------------------------------------------------------------------------------------------------


def test_parse_to():
    parse = ad._C._nn._parse_to
    assert parse("cpu", ad.float64) == (ad.device("cpu"), ad.float64, False, None)
    assert parse(ad.ones(1, dtype=ad.int64)) == (ad.device("cpu"), ad.int64, False, None)
    assert parse(ad.float16, True, memory_format=ad.channels_last) == (None, ad.float16, True, ad.channels_last)


def test_dispatch_keys_and_sets_of_them():
    keys, key = ad._C.DispatchKeySet, ad._C.DispatchKey
    both = keys(key.AutocastCPU) | keys(key.AutogradCPU)
    assert both.has(key.AutogradCPU) and not both.has(key.CPU) and both.remove(key.AutogradCPU) == keys(key.AutocastCPU)
    with ad._C._ExcludeDispatchKeyGuard(both):
        assert ad._C._get_tracing_state() is None


def test_transforms_can_be_asked_for():
    seen = []

    def f(x):
        seen.append(ad._C._are_functorch_transforms_active())
        return x.sum()

    f(ad.ones(1))
    ad.func.grad(f)(ad.ones(1))
    assert seen == [False, True]


# ---- checks, sizes, several tensors as one ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ad._assert(False, "no"), AssertionError, "no"),
        (lambda: ad._assert_async(ad.tensor(0)), RuntimeError, "single nonzero value, but got zero"),
        (lambda: ad._check(False), RuntimeError, "Expected cond to be True"),
        (lambda: ad._check(False, lambda: "why"), RuntimeError, "why"),
        (lambda: ad._check(1), TypeError, "cond must be a bool"),
        (lambda: ad._check_value(False), ValueError, "Expected cond"),
        (lambda: ad._check_index(False), IndexError, "Expected cond"),
        (lambda: ad._check_with(KeyError, False, lambda: "k"), KeyError, "k"),
        (lambda: ad._check_tensor_all(ad.tensor([True, False]), lambda: "m"), RuntimeError, "m"),
        (lambda: ad._utils._get_device_index("cpu"), ValueError, "Expected a non cpu device"),
        (lambda: ad._utils._get_device_index(None), ValueError, "specified index"),
        (lambda: ad.get_device_module("meta"), RuntimeError, "torch.meta"),
    ],
)
def test_checks(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_sizes_are_pythons_own():
    assert (ad.sym_int(2.7), ad.sym_float(3), ad.sym_max(2, 3.0), ad.sym_min(2, 3.0), ad.sym_not(True)) == (2, 3.0, 3.0, 2.0, False)
    assert not isinstance(ad.ones(2).shape[0], ad.SymInt) and ad.sym_ite(True, 1, 2) == 1 and ad.sym_sum([1, 2]) == 3
    assert ad.get_device_module() is ad.cpu and ad.cpu.device_count() == 1


def test_several_tensors_as_one():
    parts = [ad.ones(2, 2), ad.zeros(3)]
    flat = ad._utils._flatten_dense_tensors(parts)
    assert flat.tolist() == [1, 1, 1, 1, 0, 0, 0]
    first, second = ad._utils._unflatten_dense_tensors(flat, parts)
    assert ad.equal(first, parts[0]) and ad.equal(second, parts[1])
    first[0, 0] = 5
    assert flat[0] == 5


def test_text_of_tensors_in_parts():
    from adjoint import _tensor_str

    assert _tensor_str._tensor_str(ad.arange(4.0).view(2, 2), 7) == "[[0., 1.],\n        [2., 3.]]"
    assert _tensor_str._add_suffixes("abc", ["x=1", "y=2"], 3, False) == "abc, x=1, y=2)"
    assert _tensor_str._add_suffixes("abc", ["x=1", "y=2"], 3, True) == "abc,\n   x=1, y=2)"
    assert _tensor_str._str_intern(ad.ones(2), tensor_contents="...") == "tensor(...)"
    with ad.printoptions(threshold=7):
        assert _tensor_str.PRINT_OPTS.threshold == 7


def test_events_tell_time():
    start, end = ad.Event(enable_timing=True), ad.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="Both events must be recorded"):
        start.elapsed_time(end)
    with ad.Stream() as stream:
        start.record(stream)
    stream.record_event(end)
    assert start.elapsed_time(end) >= 0 and stream.query() and ad.cpu.current_stream().query()


# ---- pipes of data ------------------------------------------------------------------------------------------------------------------


def test_pipes():
    numbers = IterableWrapper(range(7))
    squares = numbers.filter(lambda n: n % 2 == 0).map(lambda n: n * n)
    assert list(squares) == [0, 4, 16, 36] and list(numbers.batch(3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(numbers.batch(3)) == 3 and len(numbers.batch(3, drop_last=True)) == 2 and isinstance(numbers.batch(2), Batcher)
    assert sorted(numbers.shuffle(buffer_size=3)) == list(range(7)) and list(numbers.shuffle().set_shuffle(False)) == list(range(7))
    assert list(numbers.zip(squares)) == [(0, 0), (1, 4), (2, 16), (3, 36)] and list(numbers.batch(2).unbatch()) == list(range(7))
    assert list(DataLoader(numbers.batch(3), batch_size=None, collate_fn=list)) == [[0, 1, 2], [3, 4, 5], [6]]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = numbers.nothing
    assert isinstance(pickle.loads(pickle.dumps(numbers)), IterDataPipe)


def test_a_class_of_pipes_becomes_a_method():
    @functional_datapipe("test_doubled")
    class Doubled(IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            return (2 * n for n in self.source)

    try:
        assert list(IterableWrapper([1, 2]).test_doubled()) == [2, 4]
        with pytest.raises(Exception, match="already taken"):
            functional_datapipe("test_doubled")(Doubled)
    finally:
        del IterDataPipe.functions["test_doubled"]


def test_settings_of_pipes_wherever_they_stand():
    from adjoint.utils.data.graph_settings import apply_random_seed, apply_sharding, apply_shuffle_settings

    pipe = IterableWrapper(range(6)).shuffle().sharding_filter().map(int)
    assert list(apply_shuffle_settings(pipe, False)) == list(range(6))
    apply_sharding(pipe, 2, 1)
    assert list(pipe) == [1, 3, 5]
    apply_shuffle_settings(pipe, True)
    first = list(apply_random_seed(pipe, ad.Generator().manual_seed(3)))
    assert list(apply_random_seed(pipe, ad.Generator().manual_seed(3))) == first


def test_groups_of_workers_divide_what_the_ones_before_have_left():
    from adjoint.utils.data.datapipes import SHARDING_PRIORITIES
    from adjoint.utils.data.graph_settings import apply_sharding

    pipe, one_group = (IterableWrapper(range(24)).sharding_filter(only) for only in (None, SHARDING_PRIORITIES.DISTRIBUTED))
    for each in (pipe, one_group):
        apply_sharding(each, 2, 1, SHARDING_PRIORITIES.DISTRIBUTED)
        apply_sharding(each, 3, 2, SHARDING_PRIORITIES.MULTIPROCESSING)
    assert list(pipe) == [5, 11, 17, 23] and list(one_group) == list(range(1, 24, 2))
    with pytest.raises(RuntimeError, match="cannot mix DEFAULT and non DEFAULT groups"):
        apply_sharding(pipe, 2, 0)
    with pytest.raises(ValueError, match=r"instance_id\(2\) should be smaller than num_of_instances\(2\)"):
        apply_sharding(pipe, 2, 2, SHARDING_PRIORITIES.DISTRIBUTED)


def test_names_of_the_loaders_iterators():
    from adjoint.utils.data import _utils, dataloader

    loader: DataLoader[int] = DataLoader(range(3))
    assert isinstance(iter(loader), dataloader._SingleProcessDataLoaderIter | dataloader._BaseDataLoaderIter)
    assert loader._dataset_kind == dataloader._DatasetKind.Map
    assert _utils.worker._generate_state(2**40, 1) == _utils.worker._generate_state(2**40, 1) != _utils.worker._generate_state(2**40, 2)
    assert _utils.worker._worker_info is None and _utils.collate.np_str_obj_array_pattern.search("<U3")


# ---- hub ----------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def hub_home(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    return tmp_path


def test_weights_come_from_files_of_this_machine(hub_home):
    assert ad.hub._get_torch_home() == str(hub_home) and ad.hub.get_dir() == str(hub_home / "hub")
    ad.save({"w": ad.ones(2)}, hub_home / "model.pth")
    found = ad.hub.load_state_dict_from_url(f"file://{hub_home}/model.pth", file_name="other.pth")
    assert found["w"].tolist() == [1, 1] and (hub_home / "hub" / "checkpoints" / "other.pth").exists()
    kept = ad.hub.load_state_dict_from_url("https://example.com/other.pth", weights_only=True)  # it is there already
    assert kept["w"].tolist() == [1, 1]
    with pytest.raises(NotImplementedError, match=r"checkpoints/new.pth, where it is looked for first"):
        ad.utils.model_zoo.load_url("https://example.com/new.pth")


def test_the_hash_in_a_name_is_checked(hub_home):
    import hashlib

    ad.save({}, hub_home / "m.pth")
    prefix = hashlib.sha256((hub_home / "m.pth").read_bytes()).hexdigest()[:8]
    assert ad.hub.HASH_REGEX.search("m-0123abcd.pth").group(1) == "0123abcd"
    ad.hub.download_url_to_file(f"file://{hub_home}/m.pth", hub_home / "copy.pth", prefix)
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00000000"'):
        ad.hub.load_state_dict_from_url(f"file://{hub_home}/m.pth", check_hash=True, file_name="m-00000000.pth")


def test_models_come_from_a_directory(tmp_path):
    (tmp_path / "beside.py").write_text("SIZE = 3\n", encoding="utf-8")
    (tmp_path / "hubconf.py").write_text(
        'from adjoint import nn\nfrom beside import SIZE\ndependencies = ["numpy"]\n'
        'def tiny(out=1):\n    "A tiny model."\n    return nn.Linear(SIZE, out)\n',
        encoding="utf-8",
    )
    model = ad.hub.load(str(tmp_path), "tiny", out=2, source="local")
    assert (model.in_features, model.out_features) == (3, 2)
    assert "tiny" in ad.hub.list(tmp_path) and ad.hub.help(tmp_path, "tiny") == "A tiny model."
    with pytest.raises(RuntimeError, match="Cannot find callable large in hubconf"):
        ad.hub.load(tmp_path, "large", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        ad.hub.load(tmp_path, "tiny", source="disk")


# ---- export, quantization -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ad.export.export(None, ()), "does not export programs"),
        (lambda: ad.onnx.symbolic_opset11.select(1), "operations are not written in ONNX"),
        (lambda: ad.ao.quantization.fuse_modules(None, []), "computes in floating point"),
        (lambda: ad.nn.quantized.Linear(1, 1), "layer of the same name in torch.nn"),
        (lambda: ad.nn.quantized.BatchNorm2d(1), "layer of the same name in torch.nn"),
        (lambda: ad.quantization.convert(None), "computes in floating point"),
    ],
)
def test_other_ways_of_running_models_are_refused(call, message):
    with pytest.raises(NotImplementedError, match=message):
        call()


def test_classes_are_derived_from_quantized_layers():
    class Mine(ad.nn.quantized.BatchNorm2d):  # type: ignore[misc]
        pass

    assert issubclass(Mine, nn.Module) and ad.ao.nn.quantized.LSTM.__name__ == "LSTM"
    assert all(issubclass(getattr(ad.nn.quantized, name), nn.Module) for name in ad.nn.quantized.__all__)


def test_what_works_in_floating_point():
    x = ad.tensor([1.0, -2.0])
    assert ad.ao.quantization.QuantWrapper(nn.ReLU())(x).tolist() == [1, 0]
    ops = ad.ao.nn.quantized.FloatFunctional()
    assert ops.add(x, x).tolist() == [2, -4] and ops.add_relu(x, x).tolist() == [2, 0] and ops.cat([x, x]).shape == (4,)
    assert repr(ad.export.Dim("b", min=1, max=4)) == "Dim('b', min=1, max=4)" and repr(ad.export.Dim.AUTO) == "DimHint(AUTO)"
    assert int(ad.onnx.TensorProtoDataType.INT64) == 7 and ad.onnx.operators.shape_as_tensor(ad.ones(2, 3)).tolist() == [2, 3]
    assert ad.onnx.symbolic_helper.parse_args("v")(len) is len and ad.onnx.register_custom_op_symbolic("a::b", len, 11) is None


# ---- devices that are not here ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cuda", "xpu", "mps", "mtia"])
def test_absent_devices_answer(name):
    module = getattr(ad, name)
    assert not module.is_available() and module.device_count() == 0 and module.manual_seed(0) is None and module.empty_cache() is None
    with pytest.raises((AssertionError, RuntimeError), match=f"not compiled with {name.upper()} enabled"):
        module.synchronize()
    assert not hasattr(module, "nonsense")


def test_cuda_without_a_gpu():
    assert ad.cuda._initialized is False is ad._C._is_tracing()
    assert not isinstance(ad.ones(1), ad.cuda.FloatTensor) and ad.cuda.random.get_rng_state_all() == [] and ad.cuda.memory_stats() == {}
    with ad.cuda.device(-1), ad.cuda.device_of(ad.ones(1)):
        pass
    for call, kind, message in (
        (lambda: ad.cuda.FloatTensor([1.0]), TypeError, "write torch.FloatTensor"),
        (lambda: ad.cuda.device(0).__enter__(), AssertionError, "there is no device 0"),
        (lambda: ad.cuda.nvtx.range_push("a"), RuntimeError, "NVTX functions not installed"),
        (ad.cuda.CUDAGraph, AssertionError, "not compiled with CUDA"),
        (ad.cuda.get_rng_state, AssertionError, "not compiled with CUDA"),
    ):
        with pytest.raises(kind, match=message):
            call()


def test_ordinary_tensors_are_no_fake_ones():
    from adjoint._subclasses import FakeTensor
    from adjoint._subclasses.fake_tensor import is_fake

    assert not is_fake(ad.ones(2)) and not is_fake(ad.ones(2, device="meta")) and not isinstance(ad.ones(2), FakeTensor)


# ---- what libraries reach into ------------------------------------------------------------------------------------------------------


def test_nothing_is_compiled_and_no_writes_are_taken_apart():
    from adjoint._subclasses.functional_tensor import FunctionalTensor, mb_unwrap_functional_tensor
    from adjoint._subclasses.meta_utils import MetaConverter

    x = ad.ones(2)
    assert mb_unwrap_functional_tensor(x) is x and not isinstance(x, FunctionalTensor) and MetaConverter().meta_tensor(x).is_meta
    assert ad._guards.TracingContext.try_get() is ad._guards.detect_fake_mode([x]) is None


def test_one_example_of_a_batch_can_be_told():
    seen = []
    ad.func.vmap(lambda x: (seen.append(ad._C._functorch.is_batchedtensor(x)), x)[1])(ad.ones(2))
    assert seen == [True] and not ad._C._functorch.is_batchedtensor(ad.ones(1))
    assert ad._functorch.vmap._get_name(len) == "len"
    with pytest.raises(RuntimeError, match=r"ad\.func\.vmap"):
        ad._functorch.vmap._add_batch_dim(ad.ones(1), 0, 1)


def test_the_steps_of_vmap_can_be_replaced(monkeypatch):
    import adjoint._functorch.vmap as steps

    class Pair:
        """A container that no tree knows, so that it is a leaf."""

        def __init__(self, x, y):
            self.x, self.y = x, y

    def create(dims, flat, level, spec):
        pair, (dim,) = flat[0], dims
        return (Pair(steps._add_batch_dim(pair.x, dim, level), steps._add_batch_dim(pair.y, dim, level)),)

    def unwrap(output, out_dims, level, size, func):
        return Pair(*(steps._remove_batch_dim(part, level, size, out_dims) for part in (output.x, output.y)))

    monkeypatch.setattr(steps, "_process_batched_inputs", lambda dims, args, func: (len(args[0].x), [dims], list(args), None))
    monkeypatch.setattr(steps, "_create_batched_inputs", create)
    monkeypatch.setattr(steps, "_unwrap_batched", unwrap)
    result = ad.vmap(lambda pair: Pair(pair.x.sum(), pair.y * 2))(Pair(ad.ones(2, 3), ad.arange(2.0)))
    assert result.x.tolist() == [3.0, 3.0]
    assert result.y.tolist() == [0.0, 2.0]


def test_tensors_of_modules_are_swapped():
    from adjoint.nn.utils._named_member_accessor import swap_tensor

    module = nn.BatchNorm1d(2)
    weight, other = module.weight, nn.Parameter(ad.zeros(2))
    assert swap_tensor(module, "weight", other) is weight and module.weight is other and dict(module.named_parameters())["weight"] is other
    mean = module.running_mean
    assert swap_tensor(module, "running_mean", ad.ones(2)) is mean and module.running_mean.tolist() == [1, 1]
    with pytest.raises(AttributeError, match="has no attribute `nothing`"):
        swap_tensor(module, "nothing", other)


def test_deterministic_mode_by_numbers():
    try:
        ad.set_deterministic_debug_mode("warn")
        assert ad.get_deterministic_debug_mode() == 1 and ad.is_deterministic_algorithms_warn_only_enabled()
        ad.set_deterministic_debug_mode(2)
        assert ad.get_deterministic_debug_mode() == 2 and ad.are_deterministic_algorithms_enabled()
    finally:
        ad.set_deterministic_debug_mode(0)
    assert ad.get_deterministic_debug_mode() == 0
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        ad.set_deterministic_debug_mode("loud")


def test_nested_tensors_are_refused():
    with pytest.raises(NotImplementedError, match="pad_sequence"):
        ad.nested.nested_tensor([ad.ones(1), ad.ones(2)])


def test_the_class_of_devices_has_two_names():
    assert ad.DeviceObjType is ad.device and isinstance(ad.ones(1).device, ad.DeviceObjType)


def test_ranges_of_nvtx_can_decorate_and_are_refused_when_entered():
    @ad.cuda.nvtx.range("step {}", 1)
    def step():
        return 1

    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        step()


def test_classes_of_compiled_libraries():
    assert ad.classes.pyg is ad.classes.pyg and not hasattr(ad.classes, "__path__")
    with pytest.raises(RuntimeError, match=r"Tried to instantiate class 'pyg\.HashMap'"):
        _ = ad.classes.pyg.HashMap
    with pytest.raises(NotImplementedError, match="compiled for PyTorch"):
        ad.classes.load_library("libpyg.so")


def test_old_names_of_what_was_built_in():
    assert [ad.has_cuda, ad.has_cudnn, ad.has_mkldnn, ad.has_mps] == [False] * 4


def test_helpers_that_optimizers_of_others_use():
    optimizer = ad.optim.SGD([ad.ones(2, requires_grad=True)], lr=0.1)
    assert optimizer._cuda_graph_capture_health_check() is None and optimizer._accelerator_graph_capture_health_check() is None
    a, b, c = ad.ones(1), ad.ones(1, dtype=ad.float64), ad.zeros(1)
    groups = optimizer._group_tensors_by_device_and_dtype([[a, b, c]], with_indices=True)
    assert groups[a.device, ad.float32] == ([[a, c]], [0, 2]) and groups[a.device, ad.float64] == ([[b]], [1])


def test_every_package_that_is_imported_when_used_exists():
    assert [name for name in vars(ad)["_PACKAGES"] if importlib.util.find_spec(f"adjoint.{name}") is None] == []
