"""`profiler.lines()`: each nanosecond on one line, backward and optimizers where they belong, and nothing changed by looking."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint._cost import measure
from adjoint._cost.table import heat
from adjoint.profiler import lines, profile
from adjoint.utils.checkpoint import checkpoint


class Pause(ad.autograd.Function):
    """An op that takes as long as it is told to."""

    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.backward_time = backward
        time.sleep(forward)
        return x * 1

    @staticmethod
    def backward(ctx, g):
        time.sleep(ctx.backward_time)  # in backward
        return g * 1, None, None


def row(cost, mark):
    """The line of this file that ends with a comment."""
    (found,) = [line for line in cost.lines if line.text.endswith(f"# {mark}")]
    return found


def slept(seconds):
    """What a line shows that sleeps: on a busy machine, more."""
    return pytest.approx(seconds + 0.049, abs=0.05)


def total(cost):
    return sum(line.total for line in cost.lines)


# ---- time ---------------------------------------------------------------------------------------------------------------------------


def test_nine_to_one():
    x = ad.ones(3)
    Pause.apply(x, 0, 0)
    with lines() as cost:
        for _ in range(2):
            time.sleep(0.18)  # nine
            time.sleep(0.02)  # one
    assert row(cost, "nine").share == pytest.approx(0.9, abs=0.05)
    assert row(cost, "one").share == pytest.approx(0.1, abs=0.05)
    with lines() as cost:
        for _ in range(4):
            Pause.apply(x, 0.045, 0)  # long op
            Pause.apply(x, 0.005, 0)  # short op
    # The lines inside are the user's too, so they have the time.
    (inner,) = [line for line in cost.lines if line.text == "time.sleep(forward)"]
    assert inner.share > 0.9 and inner.calls == 8
    assert sorted(frame.total for name, frame in walk(cost.tree) if "time.sleep(forward)" in name) == [slept(0.02), slept(0.18)]


def walk(tree):
    return [(frame.name, frame) for frame in tree.walk()]


def test_lines_add_up_to_the_wall_time():
    a = ad.randn(1000, 1000, requires_grad=True)
    (a @ a).sum().backward()
    with lines() as cost:
        start = time.perf_counter()
        for _ in range(4):
            y = a @ a
            y.tanh().sum().backward()
            sorted(range(200_000), key=float)  # plain
            time.sleep(0.02)
        elapsed = time.perf_counter() - start
    assert total(cost) == pytest.approx(elapsed, rel=0.05)
    assert total(cost) + cost.overhead == pytest.approx(cost.wall) and cost.wall >= elapsed
    assert sum(line.share for line in cost.lines) == pytest.approx(1.0)
    assert cost.tree.total == pytest.approx(total(cost))
    assert row(cost, "plain").forward > 0


def test_measuring_is_taken_off():
    """Of many small things, the lines have much less than the time that it took to watch them."""
    x = ad.ones(2)

    def small():
        for _ in range(2000):
            x * x

    small()
    costs = [lines(small) for _ in range(10)]
    assert min(total(cost) / cost.wall for cost in costs) < 0.6
    assert all(0 < cost.overhead < cost.wall for cost in costs)
    assert all(value > 0 for value in measure.calibrated())


def test_a_comprehension_is_a_part_of_its_line():
    with lines() as cost:
        for _ in range(3):
            sum(i * i for i in range(20_000))  # elements
    assert row(cost, "elements").calls == 3 and row(cost, "elements").share > 0.9
    assert len(cost._timeline) < 50


def test_backward_is_on_the_line_that_recorded_it():
    x = ad.ones(3, requires_grad=True)
    with lines() as cost:
        y = x * 2
        y = Pause.apply(y, 0, 0.06)  # slow
        y = Pause.apply(y, 0, 0.02)  # fast
        y.sum().backward()  # start
    assert row(cost, "slow").backward == slept(0.06)
    assert row(cost, "fast").backward == slept(0.02)
    assert row(cost, "start").total < 0.06
    inner = row(cost, "in backward")  # which is not counted twice
    assert inner.total == 0 and inner.elsewhere == slept(0.08) and inner.calls == 2
    assert f"({inner.elsewhere * 1e3:.3g} ms)" in str(cost) and "In brackets" in str(cost)


def test_backward_of_a_graph_from_before():
    x = ad.ones(3, requires_grad=True)
    y = Pause.apply(x, 0, 0.03).sum()  # before
    with lines() as cost:
        y.backward()
    assert row(cost, "before").backward > 0.025 and row(cost, "before").calls == 0


def test_backward_in_an_expression_over_lines():
    x = ad.ones(3, requires_grad=True)
    with lines() as cost:
        y = ad.mul(
            Pause.apply(x, 0, 0.02),  # first
            Pause.apply(x, 0, 0.04),  # second
        ).sum()
        y.backward()
    assert row(cost, "first").backward == slept(0.02)
    assert row(cost, "second").backward == slept(0.04)


def test_second_derivatives_and_recomputation():
    x = ad.ones(3, requires_grad=True)

    def recomputed(x):
        return (Pause.apply(x, 0.02, 0) * 2).exp()  # again

    with lines() as cost:
        (g,) = ad.autograd.grad((x**3).sum(), x, create_graph=True)  # once
        g.sum().backward()
        checkpoint(recomputed, x, use_reentrant=False).sum().backward()
    assert row(cost, "once").backward > 0
    assert row(cost, "again").backward == slept(0.02)


def test_optimizers_are_on_the_line_of_the_step():
    class Slow(ad.optim.SGD):
        def step(self, closure=None):
            time.sleep(0.02)  # own
            return super().step()

    weight = ad.ones(300, 300, requires_grad=True)
    weight.sum().backward()
    adam, slow, lbfgs = ad.optim.Adam([weight]), Slow([weight], lr=0.1), ad.optim.LBFGS([weight], max_iter=2)

    def closure():
        lbfgs.zero_grad()
        time.sleep(0.01)  # of the closure
        loss = (weight**2).sum()
        loss.backward()
        return loss

    with lines() as cost:
        for _ in range(5):
            adam.step()  # adam
        slow.step()  # slow
        lbfgs.step(closure)  # lbfgs
    assert row(cost, "adam").optimizer > 10 * row(cost, "adam").backward
    assert row(cost, "adam").optimizer > row(cost, "adam").forward
    assert row(cost, "own").optimizer == slept(0.02) and row(cost, "own").forward < 0.015
    assert row(cost, "slow").optimizer < 0.02
    assert row(cost, "of the closure").forward >= 0.01 and row(cost, "of the closure").optimizer == 0
    assert row(cost, "lbfgs").optimizer > 0


# ---- counts and memory --------------------------------------------------------------------------------------------------------------


def test_calls():
    def numbers():
        for i in range(3):
            yield i * 1  # yielded

    with lines() as cost:
        for i in numbers():  # loop
            y = [j * j for j in range(50)]  # comprehension
            z = sum(
                map(lambda j: j + 1, y)  # argument
            ) + i
        assert z > 0
    assert (row(cost, "yielded").calls, row(cost, "comprehension").calls, row(cost, "argument").calls) == (3, 3, 3)
    assert row(cost, "loop").calls == 1


def test_bytes_kept_for_backward():
    x, w = ad.randn(50, 20), ad.randn(20, 10, requires_grad=True)
    with lines() as cost:
        for size in (50, 10):  # of two passes the larger one counts
            h = x[:size] @ w  # keeps x; w is a leaf, which is there anyway
            h = h.exp()  # keeps its result
            h = h * h  # keeps nothing more
            h = Pause.apply(h, 0, 0)
            h.sigmoid().sum().backward()  # keeps sigmoid
    assert row(cost, "keeps x; w is a leaf, which is there anyway").kept == 50 * 20 * 4
    assert row(cost, "keeps its result").kept == 50 * 10 * 4
    assert row(cost, "keeps nothing more").kept == 0
    assert row(cost, "keeps sigmoid").kept == 50 * 10 * 4


def test_bytes_kept_by_custom_functions_and_hooks():
    class Keeps(ad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.repeat(3))
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = ad.ones(100, requires_grad=True)
    with lines() as cost:
        Keeps.apply(x).sum().backward()  # custom
        with ad.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().astype(np.float16), lambda a: ad.tensor(a.astype(np.float32))):
            y = x.exp()  # packed
        y.sum().backward()
    assert row(cost, "custom").kept == 1200 and row(cost, "packed").kept == 200


def test_peaks_of_memory():
    (ad.ones(1 << 20) + 1).sum()  # what is made at the first call would count too
    with lines(memory=True) as cost:
        x = ad.ones(1 << 20)  # four
        y = (x + 1).sum()  # eight
        del x
        z = ad.ones(10)  # little
    assert y + z[0] > 0
    mebibytes = [row(cost, mark).peak / 2**20 for mark in ("four", "eight", "little")]
    assert mebibytes == [pytest.approx(4, abs=0.5), pytest.approx(8, abs=0.5), pytest.approx(0, abs=0.5)]
    assert not tracemalloc.is_tracing()
    assert re.search(r"\bpeak\b", str(cost)) and "peak" in cost.as_dict()["lines"][0]
    with lines() as without:
        pass
    assert "peak" not in str(without) and "peak" not in without.as_dict()["lines"][0]


# ---- whose lines --------------------------------------------------------------------------------------------------------------------

LIBRARY = """
import time
import adjoint as ad

def double(x, run):
    time.sleep(0.01)
    y = run(x * 2)
    return y.exp()
"""


def test_libraries_belong_to_the_line_that_calls_them(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "some_library.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    some_library = importlib.import_module("some_library")

    x = ad.ones(100, requires_grad=True)

    def run():
        y = some_library.double(x, lambda z: Pause.apply(z, 0, 0.01))  # library
        y.sum().backward()

    cost = lines(run)
    line = row(cost, "library")
    assert line.forward > 0.01 and line.backward > 0.01 and line.kept == 400
    assert {line.filename for line in cost.lines} == {__file__}
    cost = lines(run, packages=["some_library"])
    (inner,) = [line for line in cost.lines if line.text == "time.sleep(0.01)"]
    assert inner.filename == str(folder / "some_library.py") and inner.forward > 0.01
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_library'"), lines(packages=["no_such_library"]):
        pass


def test_modules_are_named_by_the_way_to_them():
    model = nn.Sequential(nn.Linear(30, 30), nn.Sequential(nn.Tanh(), nn.Linear(30, 30)))
    with lines() as cost:
        for _ in range(20):
            model(ad.ones(200, 30)).sum().backward()
    names = [name for name, _ in walk(cost.tree)]
    inside = {name for name, frame in walk(cost.tree) if name == "1 Sequential" for name in frame.below}
    assert "Sequential" in names and "0 Linear" in names and {"0 Tanh", "1 Linear"} <= inside
    for name, frame in walk(cost.tree):
        if name in ("0 Linear", "1 Linear"):
            assert frame.below["backward"].total > 0


# ---- with others --------------------------------------------------------------------------------------------------------------------


def trained(watch):
    ad.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
    optimizer = ad.optim.AdamW(model.parameters(), lr=0.01)
    with watch:
        for _ in range(10):
            x = ad.randn(8, 5)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [loss.item(), *(p.detach().numpy().tobytes() for p in model.parameters())]


def test_results_are_the_same_to_the_last_bit():
    import contextlib

    assert trained(contextlib.nullcontext()) == trained(lines()) == trained(lines(memory=True))


def test_nothing_is_left_behind():
    before = sys.gettrace()
    frame = sys._getframe()
    traced = frame.f_trace
    x = ad.zeros(3, requires_grad=True)
    with pytest.raises(ZeroDivisionError), lines() as cost:
        1 / 0  # noqa: B018  # failed
    assert row(cost, "failed").calls == 1
    with pytest.raises(RuntimeError, match="is running already"), lines(), lines():
        pass
    assert sys.gettrace() is before and frame.f_trace is traced and ad.autograd.anomaly.timed is None
    with lines() as cost:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="size of tensor"):
                Fails.apply(x).sum().backward()
            time.sleep(0.01)  # later
    assert row(cost, "later").forward == slept(0.02) and row(cost, "later").backward == 0


class Fails(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return ad.ones(2) + ad.ones(3)


def test_profiles_run_inside_and_outside():
    x = ad.ones(3, requires_grad=True)

    def run():
        Pause.apply(x, 0, 0.01).exp().sum().backward()  # run

    with lines() as cost, profile() as inside:
        run()
    assert row(cost, "run").backward > 0.01
    with profile() as outside:
        cost = lines(run)
        run()
    assert row(cost, "run").backward > 0.01
    assert [event.name for event in inside.events()].count("PauseBackward") == 1
    assert [event.name for event in outside.events()].count("PauseBackward") == 2
    assert ad.autograd.anomaly.timed is None


def test_other_threads_are_left_alone():
    x = ad.ones(3, requires_grad=True)
    found = []

    def work():
        y = Pause.apply(x * 1, 0.03, 0.03)  # elsewhere
        found.append(ad.autograd.grad(y.sum(), x)[0].tolist())

    with lines() as cost:
        thread = threading.Thread(target=work)
        thread.start()  # start
        thread.join()  # wait
    assert found == [[1.0] * 3] and row(cost, "start").forward + row(cost, "wait").forward > 0.05
    assert not [line for line in cost.lines if line.text.endswith("# elsewhere")]


@pytest.mark.parametrize("mode", [ad.no_grad, ad.inference_mode, lambda: ad.device("meta"), lambda: ad.autocast("cpu", ad.float16)])
def test_modes_do_not_matter(mode):
    measure.calibrated.cache_clear()
    with mode(), lines() as cost:
        y = ad.ones(3).exp()  # under it
    assert row(cost, "under it").calls == 1 and y.shape == (3,) and not y.requires_grad
    assert all(value > 0 for value in measure.calibrated())


def test_deep_recursion():
    def deep(n):
        return deep(n - 1) if n else time.sleep(0.02)  # deep

    with lines() as cost:
        deep(300)
    assert row(cost, "deep").calls == 301 and "deep(n - 1)" in cost._repr_html_()


def test_anomaly_mode_goes_on():
    x = ad.zeros(1, requires_grad=True)
    with pytest.warns(UserWarning), ad.autograd.detect_anomaly(), lines():
        with pytest.raises(RuntimeError, match="returned nan values"):
            (x.sqrt() * 0).sum().backward()


def test_nobody_pays_who_does_not_measure():
    code = "import sys, adjoint, adjoint.profiler; print([name for name in sys.modules if 'adjoint._cost' in name])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_journal_that_is_full_still_knows_lines(monkeypatch):
    monkeypatch.setattr(measure, "JOURNAL", 2)
    monkeypatch.setattr(measure, "INTERVALS", 5)
    x = ad.ones(3, requires_grad=True)
    with lines() as cost:
        y = Pause.apply(x, 0, 0.02)  # forgotten
        for _ in range(10):
            y = y * 1
        y.sum().backward()
    assert row(cost, "forgotten").backward == slept(0.02)
    assert len(cost._timeline) == 5


# ---- what is shown ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cost():
    x = ad.ones(100, requires_grad=True)
    with lines() as found:
        for _ in range(3):
            y = Pause.apply(x.exp() < 3, 0, 0) if x is None else x.exp()  # <b>
            time.sleep(0.004)
            y.sum().backward()
    return found


def test_table(cost):
    shown = str(cost).splitlines()
    assert shown[0].split() == ["line", "heat", "share", "calls", "forward", "backward", "optimizer", "kept"]
    numbers = [int(line.split()[0]) for line in shown if re.match(r" *\d+  [█▁-▇ ]", line)]
    assert len(numbers) >= 3 and numbers == sorted(numbers)
    assert re.search(r"400 B .*# <b>$", str(cost), re.MULTILINE)
    assert re.search(r"in all: .* forward, .* backward, .* for measuring$", str(cost), re.MULTILINE)
    first = cost.table(top=2, sort="total").splitlines()[1]
    assert first.endswith("time.sleep(0.004)") and first.split()[0].startswith("tests/test_cost.py:")
    assert "sleep" not in cost.table(top=1, sort="kept")
    assert re.search(r"^\d+ more lines: ", cost.table(top=1), re.MULTILINE)
    with pytest.raises(ValueError, match="sort is 'name'\n  fix: use one of source, total"):
        cost.table(sort="name")
    with pytest.raises(ValueError, match="peaks were not measured"):
        cost.table(sort="peak")
    with pytest.raises(ValueError, match="top is 0"):
        cost.table(top=0)
    assert [heat(share) for share in (0, 0.001, 0.125, 0.5, 1)] == ["    ", "▁   ", "█   ", "████", "████"]


def test_files(cost, tmp_path):
    cost.export_json(tmp_path / "cost.json")
    read = json.loads((tmp_path / "cost.json").read_text())
    assert read["wall"] == cost.wall and sum(line["total"] for line in read["lines"]) == pytest.approx(total(cost))
    assert {"file", "line", "calls", "forward", "backward", "optimizer", "total", "share", "kept", "text"} == set(read["lines"][0])

    cost.export_speedscope(tmp_path / "cost.speedscope.json")
    read = json.loads((tmp_path / "cost.speedscope.json").read_text())
    (found,) = read["profiles"]
    assert len(found["samples"]) == len(found["weights"]) and 0.012e9 < sum(found["weights"]) <= found["endValue"] <= cost.wall * 1e9
    names = [frame["name"] for frame in read["shared"]["frames"]]
    longest = found["samples"][max(range(len(found["weights"])), key=found["weights"].__getitem__)]
    assert names[longest[0]] == "all" and names[longest[-1]].startswith("time.sleep(0.004) (tests/test_cost.py:")

    cost.export_chrome_trace(tmp_path / "cost.trace.json")
    events = json.loads((tmp_path / "cost.trace.json").read_text())["traceEvents"]
    assert sum(event["name"].startswith("time.sleep(0.004) (") for event in events) == 3
    (whole,) = [event for event in events if event["name"] == "all"]
    for event in events:
        assert event["ph"] == "X" and 0 <= event["ts"] and event["ts"] + event["dur"] <= whole["ts"] + whole["dur"] + 1e-6
    assert any(event["name"] == "backward" for event in events)


def test_page(cost, tmp_path):
    cost.export_html(tmp_path / "cost.html")
    text = (tmp_path / "cost.html").read_text(encoding="utf-8")
    (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    assert not re.search(r"""(src|href)=["'](?!#)""", text) and "url(" not in style and "@import" not in style
    assert "# &lt;b&gt;" in text and "# <b>" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert len(re.findall(r'<td class="n">', text)) == len(Path(__file__).read_text(encoding="utf-8").splitlines())
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    (name, seconds, above), *others = json.loads(data)
    assert name == "all" and above == -1 and seconds == pytest.approx(total(cost))
    assert others and all(0 <= above < place for place, (_, _, above) in enumerate(others, 1))
    assert "sandbox" in cost._repr_html_()


# ---- the command --------------------------------------------------------------------------------------------------------------------

PROGRAM = """\
import sys
import time
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.ones(2, 3)).sum()
    loss.backward()
    optimizer.step()
    time.sleep(0.02)
print(sys.argv[1:], __name__)
"""


def command(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "adjoint", "lines", *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env=dict(__import__("os").environ, PYTHONPATH=str(ad.__path__[0]).removesuffix("adjoint"), PYTHONIOENCODING="utf-8"),
    )  # fmt: skip


def test_command(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    files = [f"--{name}={tmp_path / name}" for name in ("html", "json", "speedscope", "chrome")]
    done = command(tmp_path, "--sort", "total", "--top=4", "--memory", *files, "train.py", "--top", "9")
    assert done.stderr == "" and done.returncode == 0
    out = done.stdout.splitlines()
    assert out[0] == "['--top', '9'] __main__" and out[1].split()[-1] == "peak"
    assert re.search(r"^train\.py:12 .* 3 .*time\.sleep\(0\.02\)$", done.stdout, re.MULTILINE)
    found = {line["line"]: line for line in json.loads((tmp_path / "json").read_text())["lines"]}
    assert found[12]["forward"] > 0.06 and found[11]["optimizer"] > 0 and found[9]["backward"] > 0 and found[9]["calls"] == 3
    assert "train.py" in (tmp_path / "html").read_text() and all((tmp_path / name).stat().st_size for name in ("speedscope", "chrome"))


def test_command_for_modules_and_code(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    done = command(tmp_path, "-m", "train", "given")
    assert done.stdout.startswith("['given'] __main__\n") and re.search(r" 12 .*time\.sleep\(0\.02\)$", done.stdout, re.MULTILINE)
    done = command(tmp_path, "-c", "import time\ntime.sleep(0.03)")
    assert re.search(r"^ +2 .* time\.sleep\(0\.03\)$", done.stdout, re.MULTILINE)


def test_command_ends_as_the_program_does(tmp_path):
    (tmp_path / "ends.py").write_text("import sys\nimport time\ntime.sleep(0.01)\nsys.exit(7)\n", encoding="utf-8")
    done = command(tmp_path, "ends.py")
    assert done.returncode == 7 and "time.sleep(0.01)" in done.stdout
    (tmp_path / "fails.py").write_text("import time\ntime.sleep(0.01)\n1 / 0\n", encoding="utf-8")
    done = command(tmp_path, "fails.py")
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr and "time.sleep(0.01)" in done.stdout
    assert "adjoint" not in done.stderr
    for arguments, said in [
        (["none.py"], "can't open file 'none.py'"), ([], "what shall be run?"), (["--top", "0", "ends.py"], "show 1 line or more"),
        (["--package", "no_such_library", "ends.py"], "no module named 'no_such_library'"), (["--sort", "name", "x.py"], "invalid choice"),
        (["--sort", "peak", "ends.py"], "peaks are measured with --memory"),
    ]:  # fmt: skip
        done = command(tmp_path, *arguments)
        assert done.returncode == 2 and said in done.stderr and done.stdout == ""
