"""The base class: groups, state, saving, hooks."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.optim import optimizer as base


def parameter(*values):
    return nn.Parameter(ad.tensor(values, dtype=ad.float64))


def with_gradient(*values):
    p = parameter(*values)
    p.grad = ad.ones_like(p)
    return p


# ---- groups -------------------------------------------------------------------------------------------------------------------------


def test_groups_take_what_they_lack_from_the_defaults():
    a, b = parameter(1.0), parameter(2.0)
    optimizer = optim.SGD([{"params": a, "lr": 0.5}, {"params": [b]}], lr=0.1, momentum=0.9)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.1]
    assert optimizer.param_groups[0]["params"] == [a] and optimizer.param_groups[1]["momentum"] == 0.9
    optimizer.add_param_group({"params": parameter(3.0), "lr": 7})
    assert optimizer.param_groups[2]["lr"] == 7


def test_names():
    a, b = parameter(1.0), parameter(2.0)
    optimizer = optim.SGD([("a", a), ("b", b)])
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"] and optimizer.param_groups[0]["params"] == [a, b]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    with pytest.raises(ValueError, match="all optimizer param groups should be with/without names"):
        optimizer.add_param_group({"params": [parameter(1.0)]})


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (optim.SGD, TypeError, "should be an iterable of Tensors or dicts, but got torch.DoubleTensor"),
        (lambda p: optim.SGD([3]), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
        (lambda p: optim.SGD([{"params": [p]}, {"params": [p]}]), ValueError, "some parameters appear in more than one parameter group"),
        (lambda p: optim.SGD([{"params": {p}}]), TypeError, "optimizer parameters need to be organized in ordered collections"),
        (lambda p: optim.SGD([("a", p), parameter(1.0)]), ValueError, "all optimizer params should be with/without names"),
        (lambda p: optim.SGD([p]).add_param_group(3), TypeError, "param_group must be a dict, but got <class 'int'>"),
        (lambda p: optim.SGD([p], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda p: optim.SGD([p], lr=ad.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (lambda p: optim.SGD([p], momentum=-1), ValueError, "Invalid momentum value: -1"),
        (lambda p: optim.SGD([p], nesterov=True), ValueError, "Nesterov momentum requires a momentum and zero dampening"),
        (lambda p: optim.SGD([p], foreach=True, fused=True), RuntimeError, "`fused` and `foreach` cannot be `True` together."),
        (lambda p: optim.SGD([p], differentiable=True, fused=True), RuntimeError, "`fused` does not support `differentiable`"),
        (
            lambda p: optim.AdamW([p], lr=ad.tensor(0.1), foreach=True),
            ValueError,
            "lr as a Tensor is not supported for capturable=False and foreach=True",
        ),
        (lambda p: optim.Adam([p], eps=-1), ValueError, "Invalid epsilon value: -1"),
        (lambda p: optim.Adam([p], betas=(1.0, 0)), ValueError, "Invalid beta parameter at index 0: 1.0"),
        (lambda p: optim.Adam([p], betas=(0.5, 1.0)), ValueError, "Invalid beta parameter at index 1: 1.0"),
        (lambda p: optim.Adagrad([p], lr_decay=-1), ValueError, "Invalid lr_decay value: -1"),
        (lambda p: optim.RMSprop([p], alpha=-1), ValueError, "Invalid alpha value: -1"),
        (lambda p: optim.Adadelta([p], rho=2), ValueError, "Invalid rho value: 2"),
        (lambda p: optim.NAdam([p], momentum_decay=-1), ValueError, "Invalid momentum_decay value: -1"),
        (lambda p: optim.Rprop([p], etas=(2, 3)), ValueError, "Invalid eta values: 2, 3"),
        (lambda p: optim.LBFGS([{"params": [p]}, {"params": [parameter(1.0)]}]), ValueError, "LBFGS doesn't support per-parameter options"),
        (lambda p: optim.LBFGS([p]).step(), TypeError, "missing 1 required positional argument: 'closure'"),
        (lambda p: optim.LBFGS([p], line_search_fn="x").step(lambda: 0), RuntimeError, "only 'strong_wolfe' is supported"),
        (lambda p: base.Optimizer([p], {}).step(), NotImplementedError, "does not define step"),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make(parameter(1.0))


def test_non_leaf_is_named():
    computed = parameter(1.0, 2.0) * 2
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor") as caught:
        optim.SGD([parameter(1.0), computed])
    text = str(caught.value)
    assert "parameter 1 of group 0, of shape [2]" in text and "test_optimizer.py" in text and "detach().requires_grad_()" in text


def test_duplicates_warn_and_count_twice():
    p = with_gradient(1.0)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = optim.SGD([p, p], lr=0.1)
    optimizer.step()
    assert p.item() == pytest.approx(0.8)


# ---- training -----------------------------------------------------------------------------------------------------------------------


def test_zero_grad():
    p = with_gradient(1.0)
    optimizer = optim.SGD([p])
    gradient = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is gradient and gradient.item() == 0
    optimizer.zero_grad()
    assert p.grad is None


def test_closure_runs_with_grad_and_its_loss_is_returned():
    p = parameter(2.0)
    optimizer = optim.SGD([p], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with ad.no_grad():
        assert optimizer.step(closure).item() == 4
    assert p.item() == 0


def test_parameters_without_gradient_are_left_alone():
    a, b = with_gradient(1.0), parameter(1.0)
    optimizer = optim.Adam([a, b], lr=0.1)
    optimizer.step()
    assert b.item() == 1 and b not in optimizer.state


def test_step_is_a_write_that_autograd_sees():
    p = with_gradient(1.0)
    loss = (p * p).sum()
    version = p._version
    optim.SGD([p]).step()
    assert p._version == version + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_inference_tensors_are_refused():
    with ad.inference_mode():
        p = ad.ones(1)
    p.grad = ad.ones(1)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        optim.SGD([p]).step()


def test_memory_of_parameters_stays_theirs():
    array = np.array([1.0, 2.0])
    p = nn.Parameter(ad.from_numpy(array))
    p.grad = ad.ones_like(p)
    optim.SGD([p, with_gradient(5.0)], lr=1).step()
    assert array.tolist() == [0.0, 1.0]


def test_transposed_parameters():
    p = nn.Parameter(ad.arange(6.0).view(2, 3).t())
    p.grad = ad.arange(6.0).view(3, 2)
    big = nn.Parameter(ad.zeros(200, 300).t())
    big.grad = ad.arange(60000.0).view(300, 200)
    optim.SGD([p, big], lr=1).step()
    assert p.tolist() == [[0, 2], [-1, 1], [-2, 0]]
    assert np.array_equal(big.detach().numpy(), -np.arange(60000.0).reshape(300, 200))


def test_learning_rate_may_be_a_tensor():
    p = with_gradient(1.0)
    rate = ad.tensor(0.25)
    optimizer = optim.SGD([p], lr=rate)
    optimizer.step()
    rate.fill_(0.5)
    optimizer.step()
    assert p.item() == 0.25


# ---- state --------------------------------------------------------------------------------------------------------------------------


def test_state_dict():
    a, b = with_gradient(1.0), with_gradient(2.0, 3.0)
    optimizer = optim.Adam([a, b], lr=0.1)
    optimizer.step()
    state = optimizer.state_dict()
    assert state["param_groups"] == [
        {
            "lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "amsgrad": False, "maximize": False, "foreach": None,
            "capturable": False, "differentiable": False, "fused": None, "decoupled_weight_decay": False, "params": [0, 1],
        }
    ]  # fmt: skip
    assert list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    assert state["state"][1]["step"].item() == 1 and state["state"][1]["step"].dtype is ad.float32
    assert state["state"][1]["exp_avg"].shape == (2,) and state["state"][1]["exp_avg"].dtype is ad.float64


def steps(optimizer, params, count):
    for step in range(count):
        for place, p in enumerate(params):
            p.grad = ad.tensor(np.cos(np.arange(p.numel()) + step + place).reshape(tuple(p.shape)))
        optimizer.step()


def test_training_continues_after_loading():
    shapes = [(2, 3), (4,), (200, 100)]
    whole = [nn.Parameter(ad.ones(s, dtype=ad.float64)) for s in shapes]
    reference = optim.Adam(whole, lr=0.1, amsgrad=True)
    steps(reference, whole, 3)
    first = [nn.Parameter(p.detach().clone()) for p in whole]
    second = optim.Adam(first, lr=99.0)
    second.load_state_dict(pickle.loads(pickle.dumps(reference.state_dict())))
    assert second.param_groups[0]["lr"] == 0.1 and second.param_groups[0]["params"] == first
    steps(reference, whole, 4)
    steps(second, first, 4)
    for a, b in zip(whole, first, strict=True):
        assert np.array_equal(a.detach().numpy(), b.detach().numpy())


def test_loading_copies():
    p = with_gradient(1.0)
    optimizer = optim.SGD([p], momentum=0.9)
    optimizer.step()
    other = optim.SGD([with_gradient(1.0)], momentum=0.9)
    other.load_state_dict(optimizer.state_dict())
    other.step()
    assert optimizer.state[p]["momentum_buffer"].item() == 1


def test_state_may_be_replaced_changed_and_deleted():
    a, b = with_gradient(1.0), with_gradient(1.0)
    optimizer = optim.SGD([a, b], lr=1, momentum=0.5)
    optimizer.step()  # both at 0, buffers 1
    optimizer.state[a]["momentum_buffer"] = ad.tensor([10.0], dtype=ad.float64)
    optimizer.state[b]["momentum_buffer"].zero_()
    optimizer.step()
    assert a.item() == -6 and b.item() == -1
    optimizer.state[a]["momentum_buffer"].data = ad.zeros(1, dtype=ad.float64)
    optimizer.step()
    assert a.item() == -7
    del optimizer.state[b]
    optimizer.step()
    assert b.item() == -1 - 1.5 - 1
    optimizer.state[a]["note"] = "kept"
    optimizer.step()
    assert optimizer.state[a]["note"] == "kept"


def test_settings_may_ask_for_more_state():
    a, b = with_gradient(1.0), with_gradient(1.0)
    optimizer = optim.SGD([a, b], lr=1)
    optimizer.step()
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    optimizer.step()
    assert a.item() == b.item() == 0 - 1 - 1.5
    adam = optim.Adam([a, b])
    adam.step()
    adam.param_groups[0]["amsgrad"] = True
    adam.step()
    assert "max_exp_avg_sq" in adam.state[a]


def test_parameters_may_fall_out_of_step():
    a, b = with_gradient(1.0), with_gradient(1.0)
    optimizer = optim.Adam([a, b], lr=0.1)
    optimizer.step()
    b.grad = None
    optimizer.step()
    b.grad = ad.ones_like(b)
    optimizer.step()
    assert optimizer.state[a]["step"].item() == 3 and optimizer.state[b]["step"].item() == 2
    optimizer.state[a]["step"].fill_(7)
    optimizer.step()
    assert optimizer.state[a]["step"].item() == 8 and optimizer.state[b]["step"].item() == 3
    alone = with_gradient(1.0)
    twin = optim.Adam([alone], lr=0.1)
    for _ in range(3):
        twin.step()
    assert alone.item() == pytest.approx(b.item(), abs=1e-15)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (1, "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"),
        (2, "loaded state dict has a different number of parameter groups"),
    ],
)
def test_state_dicts_that_do_not_fit(groups, message):
    saved = optim.SGD([parameter(1.0), parameter(2.0)]).state_dict()
    with pytest.raises(ValueError, match=message):
        optim.SGD([{"params": [parameter(1.0)]} for _ in range(groups)]).load_state_dict(saved)


def test_copies():
    p = with_gradient(1.0)
    optimizer = optim.SGD([p], lr=1, momentum=0.5)
    optimizer.step()
    twin = copy.deepcopy(optimizer)
    (q,) = twin.param_groups[0]["params"]
    q.grad = ad.ones_like(q)
    twin.step()
    assert q.item() == -1.5 and p.item() == 0
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.param_groups[0]["lr"] == 1 and repr(again) == repr(optimizer)


def test_repr():
    assert repr(optim.SGD([parameter(1.0)], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n    lr: 0.1\n"
        "    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )


# ---- hooks --------------------------------------------------------------------------------------------------------------------------


def test_step_hooks():
    p = with_gradient(1.0)
    optimizer = optim.SGD([p])
    calls: list[object] = []
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append(("pre", o is optimizer, args, kwargs)))
    optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("post"))
    for_all = base.register_optimizer_step_post_hook(lambda o, args, kwargs: calls.append("all"))
    optimizer.step()
    assert calls == [("pre", True, (optimizer,), {}), "post", "all"]
    before.remove()
    for_all.remove()
    optimizer.step()
    assert calls[3:] == ["post"]
    optimizer.register_step_pre_hook(lambda *args: 3)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 3."):
        optimizer.step()


def test_state_dict_hooks():
    optimizer = optim.SGD([parameter(1.0)], lr=0.1)
    calls = []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("save"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 5}]})
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    state = optimizer.state_dict()
    assert state["more"] == 1
    optimizer.load_state_dict(state)
    assert calls == ["save", "loaded"] and optimizer.param_groups[0]["lr"] == 5


def test_an_optimizer_of_ones_own():
    class Plain(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @ad.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad, alpha=-group["lr"])
                    self.state[p]["n"] = self.state[p].get("n", 0) + 1

    p = with_gradient(1.0)
    optimizer = Plain([p], lr=0.5)
    seen = []
    optimizer.register_step_post_hook(lambda *args: seen.append(1))
    optimizer.step()
    assert p.item() == 0.5 and seen == [1] and optimizer.state_dict()["state"] == {0: {"n": 1}}


@pytest.mark.parametrize("count", [3, 90_000])
@pytest.mark.parametrize("what", ["gradient", "state", "parameter"])
def test_data_of_another_size_are_refused_before_anything_changes(what, count):
    x = nn.Parameter(ad.zeros(count))
    optimizer = optim.Adam([x], lr=0.1)
    x.grad = ad.ones(count)
    for _ in range(30):  # by NumPy first, then by compiled code, which has only addresses
        optimizer.step()
    changed = {"gradient": x.grad, "state": optimizer.state[x]["exp_avg"], "parameter": x}[what]
    changed.data = ad.ones(2)
    before = x.tolist(), optimizer.state[x]["step"].item()
    with pytest.raises(RuntimeError, match=r"The size of tensor a .* must match the size of tensor b"):
        optimizer.step()
    assert (x.tolist(), optimizer.state[x]["step"].item()) == before


@pytest.mark.parametrize("shape", [(300, 1), (300,), (1, 1), ()])
def test_a_gradient_that_is_broadcast(shape):
    x, y = (nn.Parameter(ad.zeros(300, 300)) for _ in range(2))
    optimizer = optim.SGD([x, y], lr=0.1, momentum=0.9)
    x.grad, y.grad = ad.zeros(300, 300), ad.zeros(300, 300)
    for _ in range(2):
        optimizer.step()
        x.grad.data = ad.arange(300.0)[: math.prod(shape)].reshape(shape)
        y.grad.data = x.grad.data.expand(300, 300).clone()
    optimizer.step()
    assert x.tolist() == y.tolist()


# ---- corners ------------------------------------------------------------------------------------------------------------------------


def test_a_parameter_that_occurs_again_keeps_its_first_number():
    optimizer = optim.SGD([parameter(1.0), parameter(2.0)])
    optimizer.param_groups.extend(optimizer.param_groups)
    assert [group["params"] for group in optimizer.state_dict()["param_groups"]] == [[0, 1], [0, 1]]


def test_names_stand_before_the_settings():
    optimizer = optim.SGD([("a", parameter(1.0))])
    assert list(optimizer.param_groups[0])[:3] == ["params", "param_names", "lr"]


def test_a_required_setting_has_to_be_given():
    with pytest.raises(ValueError, match="parameter group didn't specify a value of required optimization parameter lr"):
        optim.Optimizer([parameter(1.0)], {"lr": base.required})


@pytest.mark.parametrize("kind", [optim.Adam, optim.NAdam, optim.ASGD, optim.Adafactor])
def test_a_step_that_was_saved_as_a_number_is_loaded_as_a_tensor(kind):
    p = with_gradient(1.0, 2.0)
    optimizer = kind([p])
    optimizer.step()
    saved = optimizer.state_dict()
    saved["state"][0]["step"] = 3
    optimizer.load_state_dict(saved)
    assert optimizer.state[p]["step"].item() == 3
    optimizer.step()
    assert optimizer.state[p]["step"].item() == 4


def test_what_only_other_devices_or_dtypes_can_do_is_refused():
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be on supported devices"):
        optim.Adam([with_gradient(1.0)], capturable=True).step()
    z = nn.Parameter(ad.ones(1, dtype=ad.complex64))
    z.grad = ad.ones(1, dtype=ad.complex64)
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating point Tensors"):
        optim.SGD([z], fused=True).step()


@pytest.mark.parametrize(
    ("betas", "settings", "message"),
    [
        ((ad.tensor(0.9), 0.9), {}, "betas must be either both floats or both Tensors"),
        ((0, 0.9), {}, "betas must be either both floats or both Tensors"),
        ((ad.tensor(0.9), ad.tensor(0.9)), {"foreach": True}, r"betas\[0\] as a Tensor is not supported for capturable=False"),
    ],
)
def test_betas_of_adam(betas, settings, message):
    with pytest.raises(ValueError, match=message):
        optim.Adam([parameter(1.0)], betas=betas, **settings)


def test_the_step_can_be_differentiated_by_betas():
    gradients = [0.2, 0.1], [0.3, -0.1]

    def trained(beta1, beta2):
        p = parameter(0.5, -0.3).clone()
        optimizer = optim.Adam([p], lr=0.1, betas=(beta1, beta2), differentiable=True)
        for gradient in gradients:
            p.grad = ad.tensor(gradient, dtype=ad.float64)
            optimizer.step()
        return p

    betas = [ad.tensor(value, dtype=ad.float64, requires_grad=True) for value in (0.9, 0.99)]
    assert ad.autograd.gradcheck(trained, betas)


def test_the_step_of_nadam_can_be_differentiated_by_its_state():
    def trained(product):
        p = parameter(0.5, -0.3).clone()
        optimizer = optim.NAdam([p], lr=0.1, differentiable=True)
        optimizer.state[p].update(step=ad.tensor(3.0, dtype=ad.float64), mu_product=product.clone())
        p.grad = ad.tensor([0.2, 0.1], dtype=ad.float64)
        optimizer.step()
        return p

    assert ad.autograd.gradcheck(trained, ad.tensor(0.7, dtype=ad.float64, requires_grad=True))


def test_an_optimizer_works_on_other_parameters_for_a_while():
    p, q = with_gradient(1.0), with_gradient(5.0)
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    with pytest.raises(RuntimeError, match="requires initialized optimizer state"), optim.swap_in_optimizer_params_and_state(
        optimizer, {"w": q}, optimizer.state_dict()
    ):
        pass
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["lr"] = 1.0
    before = p.item()
    with optim.swap_in_optimizer_params_and_state(optimizer, {"w": q}, state):
        optimizer.step()
    assert q.item() == pytest.approx(5 - 1.9) and p.item() == before and optimizer.param_groups[0]["lr"] == 0.1
    assert state["state"][0]["momentum_buffer"].item() == pytest.approx(1.9) and optimizer.state[p]["momentum_buffer"].item() == 1
    with pytest.raises(RuntimeError, match="a different number of parameter groups"), optim.swap_in_optimizer_params_and_state(
        optimizer, {"w": q}, {"state": {}, "param_groups": []}
    ):
        pass


def test_the_step_of_asgd_can_be_differentiated_by_its_rate():
    def trained(eta):
        p = parameter(0.5, -0.3).clone()
        optimizer = optim.ASGD([p], differentiable=True)
        optimizer.state[p].update(step=ad.tensor(3.0, dtype=ad.float64), eta=eta.clone(), mu=ad.tensor(1.0, dtype=ad.float64))
        optimizer.state[p]["ax"] = ad.zeros(2, dtype=ad.float64)
        p.grad = ad.tensor([0.2, 0.1], dtype=ad.float64)
        optimizer.step()
        return p

    assert ad.autograd.gradcheck(trained, ad.tensor(0.9, dtype=ad.float64, requires_grad=True))


def test_sparse_adam_refuses_complex_parameters():
    with pytest.raises(ValueError, match=r"Complex params at indices \[\[0, 1\]\]: SparseAdam does not support complex parameters"):
        optim.SparseAdam([parameter(1.0), ad.ones(1, dtype=ad.complex64)])
