"""The doctor itself: it never raises, changes nothing, leaves nothing behind, and is called in three ways."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import _events, nn
from adjoint._doctor import Doctor
from adjoint._doctor.rule import Rule
from adjoint._doctor.rules import RULES
from adjoint._state import OBSERVE, get_mode
from adjoint.nn._hooks import EVERYWHERE
from adjoint.optim.optimizer import _all_post_hooks, _all_pre_hooks
from benchmarks import models

ROOT = Path(__file__).resolve().parents[2]
FORGETFUL = """import torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.ones(8, 3)
for _ in range(10):
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
print("done")
"""


def forgetful():
    w = ad.ones(2, requires_grad=True)
    optimizer = ad.optim.SGD([w], lr=0.1)
    for _ in range(5):
        (w * w).sum().backward()
        optimizer.step()


def listeners():
    return [len(value) for value in vars(_events).values() if isinstance(value, _events.Channel)]


# ---- it changes nothing ---------------------------------------------------------------------------------------------------------------


def adversarial(lib):
    lib.manual_seed(0)
    G, D = (
        nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2)),
        nn.Sequential(nn.Linear(2, 16), nn.Dropout(0.1), nn.Linear(16, 1)),
    )
    of_G, of_D = lib.optim.Adam(G.parameters(), lr=1e-3), lib.optim.Adam(D.parameters(), lr=1e-3)
    loss = nn.BCEWithLogitsLoss()

    def step():
        real, fake = lib.randn(32, 2), G(lib.randn(32, 4))
        of_D.zero_grad()
        (loss(D(real), lib.ones(32, 1)) + loss(D(fake.detach()), lib.zeros(32, 1))).backward()
        of_D.step()
        of_G.zero_grad()
        loss(D(fake), lib.ones(32, 1)).backward()
        of_G.step()

    step.parameters = [*G.parameters(), *D.parameters()]
    return step


STEPS = {
    "mlp": (models.multilayer_perceptron, 40),
    "cnn": (models.convolutional_network, 4),
    "gpt": (models.language_model, 4),
    "lstm": (models.long_short_term_memory, 8),
    "pinn": (models.physics_informed, 12),
    "gan": (adversarial, 130),
}


def trained(name, doctor):
    """The parameters after some steps, and the next random numbers."""
    build, count = STEPS[name]
    made = []

    def listener(optimizer):
        made.extend(optimizer._all_params())

    _events.OPTIMIZER_MADE.append(listener)
    try:
        if doctor is None:
            step = build(ad)
            for _ in range(count):
                step()
        else:
            with doctor:
                step = build(ad)
                for _ in range(count):
                    step()
    finally:
        _events.OPTIMIZER_MADE.remove(listener)
    return [parameter.detach().numpy().tobytes() for parameter in made], ad.rand(4).numpy().tobytes()


@pytest.mark.parametrize("name", STEPS)
def test_parameters_and_random_numbers_are_the_same_to_the_bit(name):
    doctor = Doctor()
    plain, watched = trained(name, None), trained(name, doctor)
    assert len(plain[0]) > 3 and plain == watched
    assert not doctor.failures and not [found for found in doctor.findings if found.grade == "finding"], str(doctor)


def test_nothing_is_left_behind():
    before = listeners(), get_mode(), len(EVERYWHERE), len(_all_pre_hooks), len(_all_post_hooks)
    with pytest.raises(KeyError), Doctor():
        assert get_mode() & OBSERVE
        raise KeyError("from the program")
    assert before == (listeners(), get_mode(), len(EVERYWHERE), len(_all_pre_hooks), len(_all_post_hooks))


def test_nothing_is_left_behind_by_an_evaluation_at_the_end():
    """Modules are watched again under no_grad, when the window is over."""
    before = len(EVERYWHERE), get_mode()
    model = nn.Linear(2, 1)
    with Doctor():
        for _ in range(30):
            model(ad.ones(3, 2)).sum().backward()
        with ad.no_grad():
            model(ad.ones(3, 2))
    assert before == (len(EVERYWHERE), get_mode())


def test_it_keeps_no_graph_and_no_batch_alive():
    import gc
    import weakref

    model = nn.Linear(4, 1)
    optimizer = ad.optim.SGD(model.parameters(), lr=0.1)
    with Doctor():
        for _ in range(3):
            x = ad.randn(8, 4)
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        known = weakref.ref(x), weakref.ref(loss.grad_fn)
        del x, loss
        gc.collect()
        assert [one() for one in known] == [None, None]


# ---- it never raises ------------------------------------------------------------------------------------------------------------------


class Clumsy(Rule):
    name = "clumsy"

    def backward(self, event):
        raise ZeroDivisionError("a mistake in a rule")


def test_a_rule_that_fails_is_named_and_left_out(monkeypatch):
    monkeypatch.setattr("adjoint._doctor.rules.RULES", (*RULES, Clumsy))
    with Doctor() as doctor:
        forgetful()
    assert [type(error) for error in doctor.failures.values()] == [ZeroDivisionError] and doctor.of("missing-zero-grad")
    assert "rule clumsy could not be followed: ZeroDivisionError: a mistake in a rule" in str(doctor)


def test_other_threads_are_not_watched():
    with Doctor() as doctor:
        other = threading.Thread(target=forgetful)
        other.start()
        other.join()
    assert doctor.passes == 0 and not doctor.findings


def test_transforms_and_second_derivatives_run_under_it():
    with Doctor() as doctor:
        x = ad.tensor([0.5, 2.0], requires_grad=True)
        (first,) = ad.autograd.grad((x**3).sum(), x, create_graph=True)
        first.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), [3.0, 12.0])
        np.testing.assert_allclose(ad.func.grad(lambda t: (t**2).sum())(x.detach()).numpy(), [1.0, 4.0])
        np.testing.assert_allclose(ad.func.vmap(ad.sin)(x.detach()).numpy(), np.sin([0.5, 2.0]), rtol=1e-6)
    assert not doctor.failures and not doctor.findings


# ---- how it is called -----------------------------------------------------------------------------------------------------------------


def test_of_a_block_a_function_and_with_subjects():
    model = nn.Linear(2, 1)
    assert [found.rule for found in ad.doctor(forgetful).findings] == ["missing-zero-grad"]
    with ad.doctor(model, ad.optim.SGD(model.parameters(), lr=0.1)) as doctor:
        forgetful()
    (found,) = doctor.findings
    assert found.grade == "finding" and found.site.text == "(w * w).sum().backward()" and found.count == 2
    assert found.evidence["steps with old gradients"] == 3 and "zero_grad()" in found.fix
    assert json.loads(json.dumps(doctor.as_dict()))["findings"][0]["lines"][0]["text"] == "(w * w).sum().backward()"


def test_rules_are_ignored_by_name():
    with ad.doctor(ignore=["missing-zero-grad"]) as doctor:
        forgetful()
    assert not doctor.findings
    with pytest.raises(ValueError, match="there is no rule 'missing-zero'"):
        ad.doctor(ignore=["missing-zero"])
    with pytest.raises(TypeError, match="expected modules and optimizers, or one function to be called, but got int"):
        ad.doctor(3, 4)


def run(tmp_path, source, *options):
    (tmp_path / "train.py").write_text(source)
    command = [sys.executable, "-m", "adjoint", "doctor", *options, "train.py"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment(), timeout=120, check=False)


def environment():
    import os

    return dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))


def test_the_command_line(tmp_path):
    done = run(tmp_path, FORGETFUL, "--json", "report.json", "--html", "report.html")
    assert done.returncode == 1 and done.stdout == "done\n"
    assert done.stderr.count("train.py:7   loss.backward()") == 2, done.stderr  # at once, and at the end
    assert "adjoint doctor: 1 finding, 0 notes in 10 backward passes" in done.stderr
    assert json.loads((tmp_path / "report.json").read_text())["findings"][0]["rule"] == "missing-zero-grad"
    page = (tmp_path / "report.html").read_text()
    assert '<span class="guilty">   7      loss.backward()<span class="role">backward</span></span>' in page and "http" not in page


def test_exit_codes_of_healthy_ignored_failing_and_missing_programs(tmp_path):
    healthy = FORGETFUL.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")
    assert run(tmp_path, healthy).returncode == 0
    assert run(tmp_path, FORGETFUL, "--ignore", "missing-zero-grad").returncode == 0
    assert run(tmp_path, healthy + "import sys\nsys.exit(7)\n").returncode == 7
    failed = run(tmp_path, healthy + "1 / 0\n")
    assert failed.returncode == 1 and "ZeroDivisionError" in failed.stderr and "0 findings" in failed.stderr
    unknown = run(tmp_path, healthy, "--ignore", "nonsense")
    assert unknown.returncode == 2 and "there is no rule 'nonsense'" in unknown.stderr
    nowhere = run(tmp_path, healthy, "--json", "no/such/folder/x.json")
    assert nowhere.returncode == 2 and "there is no folder" in nowhere.stderr
