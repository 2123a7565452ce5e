"""Attention and the Transformer against PyTorch: values, weights, gradients, random numbers, state, printed forms, messages."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

LIBRARIES = (ad, torch)
rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape)


def arrays(value):
    """All tensors in a result, as arrays."""
    if value is None:
        return []
    if isinstance(value, tuple | list):
        return [array for part in value for array in arrays(part)]
    return [value.detach().numpy()]


def same(ours, theirs, tolerance=1e-10):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def compare(run, tolerance=1e-10):
    """Run a program with both libraries: what it returns, and the random numbers that follow, are the same."""
    results = []
    for library in LIBRARIES:
        library.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = run(library)
        results.append(arrays([value, library.rand(2)]))
    same(*results, tolerance)


def with_gradients(library, module, inputs, out):
    """What a module returned, and the gradients of its inputs and parameters."""
    first = out[0] if isinstance(out, tuple) else out
    loss = (first * library.tensor(np.cos(np.arange(first.numel())).reshape(tuple(first.shape)))).sum()
    if isinstance(out, tuple) and out[1] is not None:
        loss = loss + (out[1] ** 2).sum()
    loss.backward()
    parameters = [] if module is None else [p.grad for p in module.parameters()]
    return [out, [x.grad for x in inputs], parameters]


# ---- scaled_dot_product_attention ---------------------------------------------------------------------------------------------------

Q, K, V = normal(2, 4, 3, 8), normal(2, 4, 5, 8), normal(2, 4, 5, 6)
ALLOWED = normal(3, 5) > -0.3
NOTHING = np.array([[True] * 5, [False] * 5, [True, False] * 2 + [True]])
ATTENTIONS: list[tuple[str, dict, tuple]] = [
    ("plain", {}, (Q, K, V)), ("causal", dict(is_causal=True), (Q, K, V)), ("scale", dict(scale=-0.7), (Q, K, V)),
    ("bool", dict(attn_mask=ALLOWED), (Q, K, V)), ("a row that sees nothing", dict(attn_mask=NOTHING), (Q, K, V)),
    ("float", dict(attn_mask=normal(4, 3, 5)), (Q, K, V)),
    ("float, a row that sees nothing", dict(attn_mask=np.where(NOTHING, 0.0, -np.inf)), (Q, K, V)),
    ("one mask for all queries", dict(attn_mask=normal(2, 1, 1, 5) > 0), (Q, K, V)), ("dropout", dict(dropout_p=0.4), (Q, K, V)),
    ("groups", dict(enable_gqa=True), (normal(2, 8, 3, 8), K, V)),
    ("groups, causal", dict(enable_gqa=True, is_causal=True), (normal(2, 8, 3, 8), K, V)),
    ("two dimensions", {}, (Q[0, 0], K[0, 0], V[0, 0])), ("three dimensions", dict(is_causal=True), (Q[0], K[0], V[0])),
    ("no keys", {}, (Q, K[:, :, :0], V[:, :, :0])),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "inputs"), [row[1:] for row in ATTENTIONS], ids=[row[0] for row in ATTENTIONS])
def test_scaled_dot_product_attention(settings, inputs):
    def run(library):
        tensors = [library.tensor(a, requires_grad=True) for a in inputs]
        given = {name: library.tensor(a) if isinstance(a, np.ndarray) else a for name, a in settings.items()}
        out = library.nn.functional.scaled_dot_product_attention(*tensors, **given)
        return with_gradients(library, None, tensors, out)

    compare(run)


def test_a_mask_is_trained():
    def run(library):
        mask = library.tensor(BIAS, requires_grad=True)
        q, k, v = map(library.tensor, (Q, K, V))
        return with_gradients(library, None, [mask], library.nn.functional.scaled_dot_product_attention(q, k, v, mask))

    compare(run)


BIAS = normal(3, 5)

# ---- MultiheadAttention -------------------------------------------------------------------------------------------------------------

HEADS: list[dict] = [
    {}, dict(bias=False), dict(add_bias_kv=True), dict(add_zero_attn=True), dict(add_bias_kv=True, add_zero_attn=True),
    dict(kdim=3, vdim=5), dict(kdim=3, vdim=5, bias=False, add_bias_kv=True), dict(batch_first=True), dict(dropout=0.3),
    dict(batch_first=True, kdim=3, vdim=5, dropout=0.2, add_zero_attn=True),
]  # fmt: skip
PADDING = np.array([[False] * 5, [False, False, False, True, True], [True, False, False, False, False]])
CALLS: list[dict] = [
    {}, dict(need_weights=False), dict(average_attn_weights=False), dict(key_padding_mask=PADDING),
    dict(key_padding_mask=PADDING, need_weights=False), dict(key_padding_mask=np.where(PADDING, -np.inf, 0.1)),
    dict(attn_mask=normal(4, 5) > 1), dict(attn_mask=normal(4, 5)), dict(attn_mask=normal(6, 4, 5), need_weights=False),
    dict(attn_mask=normal(4, 5), key_padding_mask=PADDING), dict(attn_mask=normal(6, 4, 5), key_padding_mask=PADDING),
    dict(attn_mask=normal(6, 4, 5), key_padding_mask=PADDING, need_weights=False, average_attn_weights=False),
    dict(attn_mask=np.triu(np.full((4, 5), -np.inf), 1), is_causal=True, need_weights=False),
    dict(attn_mask=np.triu(np.full((4, 5), -np.inf), 1), is_causal=True, key_padding_mask=PADDING, need_weights=False),
    dict(attn_mask=np.triu(np.ones((4, 5), bool), 1), is_causal=True),
]  # fmt: skip


def attend(library, settings, call, query, key, value, training=True):
    attention = library.nn.MultiheadAttention(8, 2, **settings, dtype=library.float64).train(training)
    inputs = [library.tensor(x, requires_grad=True) for x in (query, key, value)]
    given = {name: library.tensor(x) if isinstance(x, np.ndarray) else x for name, x in call.items()}
    out = attention(*inputs, **given)
    return [*with_gradients(library, attention, inputs, out), list(attention.parameters())]


@pytest.mark.parametrize("settings", HEADS, ids=[",".join(s) or "plain" for s in HEADS])
@pytest.mark.parametrize("call", CALLS, ids=[",".join(c) or "plain" for c in CALLS])
def test_multihead_attention(settings, call):
    query, key, value = normal(4, 3, 8), normal(5, 3, settings.get("kdim", 8)), normal(5, 3, settings.get("vdim", 8))
    if settings.get("batch_first"):
        query, key, value = (x.swapaxes(0, 1) for x in (query, key, value))
    if call.get("is_causal") and (settings.get("add_bias_kv") or settings.get("add_zero_attn")):
        call = {**call, "is_causal": False}  # the hint contradicts what is added
    compare(lambda library: attend(library, settings, call, query, key, value))


@pytest.mark.parametrize("call", [{}, dict(need_weights=False), dict(key_padding_mask=PADDING[1]), dict(attn_mask=normal(2, 4, 5))])
@pytest.mark.parametrize("training", [True, False])
def test_attention_without_a_batch(call, training):
    compare(lambda library: attend(library, dict(dropout=0.1), call, Q[0, 0, :3].repeat(2, 0)[:4], K[0, 0], K[0, 1], training))


@pytest.mark.parametrize("shared", ["all", "key and value", "none"])
def test_the_same_tensor_as_several_arguments(shared):
    def run(library):
        attention = library.nn.MultiheadAttention(8, 4, dtype=library.float64)
        x, y, z = (library.tensor(a, requires_grad=True) for a in (K[0], K[1], K[0] + 1))
        args = {"all": (x, x, x), "key and value": (x, y, y), "none": (x, y, z)}[shared]
        return [with_gradients(library, attention, [], attention(*args)), x.grad]

    compare(run)


# ---- the Transformer ----------------------------------------------------------------------------------------------------------------

SOURCE, TARGET = normal(3, 6, 8), normal(3, 4, 8)
LAYERS = [
    {}, dict(norm_first=True), dict(bias=False), dict(activation="gelu"), dict(batch_first=False), dict(dropout=0.0, layer_norm_eps=1e-3),
]  # fmt: skip
SOURCE_PADDING = np.array([[False] * 6, [False] * 4 + [True] * 2, [False] * 3 + [True] * 3])
MASKS: list[dict] = [
    {}, dict(tgt_mask="causal"), dict(tgt_mask="causal", tgt_is_causal=True),
    dict(src_key_padding_mask=SOURCE_PADDING, memory_key_padding_mask=SOURCE_PADDING),
    dict(src_mask=normal(6, 6) > 1.5, src_key_padding_mask=SOURCE_PADDING), dict(memory_mask=normal(4, 6), tgt_mask="causal"),
    dict(tgt_key_padding_mask=SOURCE_PADDING[:, 2:], tgt_mask="causal"),
]  # fmt: skip


@pytest.mark.parametrize("settings", LAYERS, ids=[",".join(s) or "plain" for s in LAYERS])
@pytest.mark.parametrize("masks", MASKS, ids=[",".join(m) or "plain" for m in MASKS])
@pytest.mark.parametrize("training", [True, False])
def test_transformer(settings, masks, training):
    settings = dict(batch_first=True) | settings
    swap = (lambda x: x) if settings["batch_first"] else (lambda x: x.swapaxes(0, 1))

    def run(library):
        model = library.nn.Transformer(8, 2, 2, 2, 16, **settings, dtype=library.float64).train(training)
        causal = model.generate_square_subsequent_mask(4, dtype=library.float64)
        known = {str: lambda _: causal, bool: lambda hint: hint, np.ndarray: library.tensor}
        given = {name: known[type(value)](value) for name, value in masks.items()}
        inputs = [library.tensor(swap(x), requires_grad=True) for x in (SOURCE, TARGET)]
        out = model(*inputs, **given)
        return [*with_gradients(library, model, inputs, out), list(model.parameters())]

    compare(run, 1e-9)


@pytest.mark.parametrize("padding", [SOURCE_PADDING, SOURCE_PADDING[:, ::-1].copy()])
@pytest.mark.parametrize("settings", [{}, dict(norm_first=True)])
def test_evaluation_without_gradients_leaves_padding_out(padding, settings):
    def run(library):
        layer = library.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dtype=library.float64, **settings)
        encoder = library.nn.TransformerEncoder(layer, 2, library.nn.LayerNorm(8, dtype=library.float64)).eval()
        with library.no_grad():
            return encoder(library.tensor(SOURCE), src_key_padding_mask=library.tensor(padding))

    compare(run)


@pytest.mark.parametrize("name", ["TransformerEncoderLayer", "TransformerDecoderLayer"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_layers_by_themselves(name, activation):
    def run(library):
        chosen = library.nn.functional.silu if activation == "silu" else activation
        layer = getattr(library.nn, name)(8, 2, 16, 0.2, chosen, dtype=library.float64)
        inputs = [library.tensor(x.swapaxes(0, 1), requires_grad=True) for x in ((SOURCE,) if "En" in name else (TARGET, SOURCE))]
        return with_gradients(library, layer, inputs, layer(*inputs))

    compare(run)


# ---- state, printed forms, messages -------------------------------------------------------------------------------------------------


def make_model(library):
    return library.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)


def test_printed_form_and_keys():
    ours, theirs = map(make_model, LIBRARIES)
    assert repr(ours) == repr(theirs)
    assert {key: tuple(value.shape) for key, value in ours.state_dict().items()} == {
        key: tuple(value.shape) for key, value in theirs.state_dict().items()
    }
    for settings in HEADS:
        keys = [list(library.nn.MultiheadAttention(8, 2, **settings).state_dict()) for library in LIBRARIES]
        assert keys[0] == keys[1]


def test_checkpoints_go_both_ways():
    ours, theirs = map(make_model, LIBRARIES)
    again = make_model(torch)
    ours.load_state_dict(theirs.state_dict())
    again.load_state_dict({key: torch.tensor(value.numpy()) for key, value in ours.state_dict().items()})
    outputs = []
    for library, model in ((ad, ours), (torch, theirs), (torch, again)):
        source, target = (library.tensor(x.astype("float32")) for x in (SOURCE, TARGET))
        outputs.append(model.eval()(source, target).detach().numpy())
    assert np.allclose(outputs[0], outputs[1], atol=1e-5) and np.array_equal(outputs[1], outputs[2])


ENCODER_LAYERS: list[dict] = [
    {}, dict(batch_first=True, norm_first=True), dict(batch_first=True, bias=False), dict(batch_first=True, layer_norm_eps=1e-3),
    dict(batch_first=True, nhead=1), dict(batch_first=True, activation="silu"),
]  # fmt: skip


@pytest.mark.parametrize("settings", ENCODER_LAYERS)
def test_warnings(settings):
    messages = []
    for library in LIBRARIES:
        given = {**settings, "activation": library.nn.functional.silu} if "activation" in settings else settings
        layer = library.nn.TransformerEncoderLayer(8, **{"nhead": 2, **given})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            library.nn.TransformerEncoder(layer, 1)
        messages.append([str(w.message) for w in caught])
    assert messages[0] == messages[1]


def mha(lib, *args, **kwargs):
    x = lib.tensor(K[0]).float()
    args = [lib.tensor(a).float() if isinstance(a, np.ndarray) else a for a in args] or [x, x, x]
    kwargs = {key: lib.tensor(value) if isinstance(value, np.ndarray) else value for key, value in kwargs.items()}
    return lib.nn.MultiheadAttention(8, 2)(*args, **kwargs)


def sdpa(lib, *args, **kwargs):
    kwargs = {key: lib.tensor(value) if isinstance(value, np.ndarray) else value for key, value in kwargs.items()}
    return lib.nn.functional.scaled_dot_product_attention(*(lib.tensor(a) for a in args), **kwargs)


X = K[0]
MISTAKES = [
    lambda lib: sdpa(lib, Q, K, V, attn_mask=ALLOWED, is_causal=True),
    lambda lib: sdpa(lib, Q[0, 0, 0], K, V),
    lambda lib: sdpa(lib, Q, K, V, attn_mask=ALLOWED[:, :4]),
    lambda lib: sdpa(lib, Q, K, V, dropout_p=1.5),
    lambda lib: sdpa(lib, normal(2, 6, 3, 8), K, V, enable_gqa=True),
    lambda lib: lib.nn.MultiheadAttention(0, 2),
    lambda lib: lib.nn.MultiheadAttention(6, 4),
    lambda lib: mha(lib, X[None], X[None], X[None]),
    lambda lib: mha(lib, X, X[0], X),
    lambda lib: mha(lib, X[0], X, X),
    lambda lib: mha(lib, X[..., :4], X[..., :4], X[..., :4]),
    lambda lib: mha(lib, X, X[:2], X),
    lambda lib: mha(lib, key_padding_mask=np.zeros(4, bool)),
    lambda lib: mha(lib, key_padding_mask=np.zeros((5, 4), int)),
    lambda lib: mha(lib, key_padding_mask=np.zeros((5, 3), bool)),
    lambda lib: mha(lib, attn_mask=np.zeros((4, 4), int)),
    lambda lib: mha(lib, attn_mask=np.zeros((4, 3), bool)),
    lambda lib: mha(lib, attn_mask=np.zeros((3, 4, 4), bool)),
    lambda lib: mha(lib, attn_mask=np.zeros((1, 1, 4, 4), bool)),
    lambda lib: mha(lib, is_causal=True),
    lambda lib: mha(lib, X[0], X[0], X[0], attn_mask=np.zeros((5, 5, 5), bool)),
    lambda lib: make_model(lib)(lib.ones(2, 3, 8), lib.ones(1, 3, 8)),
    lambda lib: make_model(lib)(lib.ones(2, 3, 8), lib.ones(2, 3, 6)),
    lambda lib: lib.nn.TransformerEncoderLayer(8, 2, activation="tanh"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=range(len(MISTAKES)))
def test_messages_begin_with_pytorchs_words(mistake):
    with pytest.raises(Exception) as theirs:
        mistake(torch)
    with pytest.raises(theirs.type) as ours:
        mistake(ad)
    assert str(ours.value).startswith(str(theirs.value).split("\n")[0].rstrip(". "))


def test_subsequent_mask():
    ours, theirs = (library.nn.Transformer.generate_square_subsequent_mask(3) for library in LIBRARIES)
    assert repr(ours) == repr(theirs)
    assert ours[0, 1].item() == -math.inf
