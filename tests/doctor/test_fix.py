"""`python -m adjoint fix`: what it does to the broken programs, to single expressions, and to files."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adjoint._doctor.fixing import Report, fixed, fixed_unchecked
from adjoint._doctor.repairs import REPAIRS, ByHandError, Diagnosis, Place, Program, Source
from adjoint._doctor.rules import RULES
from adjoint.cli import fix as command

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = HERE / "programs"
FOLDERS = sorted(rule.replace("-", "_") for rule in REPAIRS)

# What is left to the user, with words of what the user is told. Whoever mends one takes it off the list.
BY_HAND = {
    "nll_of_probabilities/broken_sigmoid_scores": "cross_entropy on the scores",
    "nonfinite/broken_constant_feature": "look at the data",
    "nonfinite/broken_fully_masked_row": "leave one element",
    "nonfinite/broken_log_of_softmax": "write torch.log_softmax",  # the steps are too long as well, which shows then
    "not_in_optimizer/broken_layer_made_in_forward": "in __init__",
    "samples_mixed/broken_channels_before_flatten": "keep the batch first",
    "samples_mixed/broken_heads_reshaped": "keep the batch first",
    "softmax_twice/broken_exp_of_log_softmax": "predict_proba() should go on",
    "sorted_batches/broken_sampler_by_class": "let the sampler mix",
    "sorted_batches/broken_slices": "shuffle the samples",
}


@pytest.fixture(scope="module")
def mended() -> dict[str, dict[str, Any]]:
    """What becomes of all broken programs of rules that have a repair, in one process."""
    files = sorted(file for folder in FOLDERS for file in (PROGRAMS / folder).glob("broken_*.py"))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    done = subprocess.run(
        [sys.executable, HERE / "mending.py", *files], capture_output=True, text=True, env=environment, timeout=600, check=False, cwd=ROOT
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(rows) == len(files), done.stderr
    return {f"{Path(row['path']).parent.name}/{Path(row['path']).stem}": row for row in rows}


def test_repairs_are_those_of_rules():
    assert set(REPAIRS) <= {rule.name for rule in RULES}


@pytest.mark.parametrize("folder", FOLDERS)
def test_broken_programs(folder, mended):
    rule = folder.replace("_", "-")
    for name, row in mended.items():
        if not name.startswith(f"{folder}/") or rule not in row["found"]:  # whether it is found is another test
            continue
        if name in BY_HAND:
            assert BY_HAND[name] in row["by hand"][rule], name
            assert rule not in row["repaired"]
            continue
        assert rule in row["repaired"], (name, row["by hand"])
        assert rule not in row["left"], name
        assert len(row["texts"]) == 1
        ast.parse(row["texts"][0])
        changed = [line for line in row["diff"].splitlines()[2:] if line.startswith(("+", "-"))]
        assert 1 <= len(changed) <= 2 * len(row["repaired"]), row["diff"]  # a line more, a line changed, or a line moved


def test_rate(mended):
    """The rate that the documentation states."""
    found = {name: row for name, row in mended.items() if name.split("/")[0].replace("_", "-") in row["found"]}
    repaired = [name for name, row in found.items() if name.split("/")[0].replace("_", "-") in row["repaired"]]
    assert (len(repaired), len(found)) == (63, 73), sorted(set(found) - set(repaired))
    assert set(found) - set(repaired) == set(BY_HAND)


# ---- single repairs ---------------------------------------------------------------------------------------------------------------------


def place_of(text: str, part: str, file: str = "train.py") -> Place:
    """Where a part of a text stands."""
    start = text.index(part)
    line, column = text.count("\n", 0, start) + 1, start - (text.rfind("\n", 0, start) + 1)
    last = line + part.count("\n")
    end = column + len(part) if last == line else len(part) - part.rindex("\n") - 1
    return Place(file, line, last, len(text.splitlines()[line - 1][:column].encode()), end)


def repaired(tmp_path: Path, rule: str, text: str, *, message: str = "", fix: str = "do it", **parts: str) -> list[str]:
    """All that a repair would write for a program of which the doctor names some parts."""
    file = tmp_path / "train.py"
    file.write_text(text, encoding="utf-8")
    found = Diagnosis(
        rule, "finding", message, fix, {role.replace("_", " "): place_of(text, part, str(file)) for role, part in parts.items()}
    )
    return [source.edited(edits) for source, edits in REPAIRS[rule](found, Program())]


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def test_gradients_that_add_up_are_dropped_after_the_step(tmp_path):
    text = "for i, x in enumerate(data):\n    model(x).backward()\n    if i % 4 == 3:\n        opt.step()  # now\n        log(i)\n"
    (found,) = repaired(tmp_path, "missing-zero-grad", text, backward="model(x).backward()", step="opt.step()")
    assert found == text.replace("# now\n", "# now\n        opt.zero_grad()\n")


def test_several_backward_calls_are_for_one_step(tmp_path):
    text = "for x in data:\n    a(x).backward()\n    b(x).backward()\n    opt.step()\n"
    (found,) = repaired(tmp_path, "missing-zero-grad", text, backward="b(x).backward()", step="opt.step()")
    assert found == text.replace("    a(x)", "    opt.zero_grad()\n    a(x)")


def test_scaled_steps_name_the_optimizer(tmp_path):
    text = "for x in data:\n    scaler.scale(f(x)).backward()\n    scaler.step(self.opt)\n"
    (found,) = repaired(tmp_path, "missing-zero-grad", text, backward="scaler.scale(f(x)).backward()", step="scaler.step(self.opt)")
    assert "    self.opt.zero_grad()\n    scaler.scale" in found


def test_statements_of_one_line(tmp_path):
    text = "for x in data: f(x).backward(); opt.step()\n"
    (found,) = repaired(tmp_path, "missing-zero-grad", text, backward="f(x).backward()", step="opt.step()")
    assert found == "for x in data: opt.zero_grad(); f(x).backward(); opt.step()\n"


def test_bytes_and_ends_of_lines_stay(tmp_path):
    text = "für = 'ä'; größe = f(für).sum(); größe.backward()  # ü\r\nopt.step()\r\n"
    file = tmp_path / "train.py"
    file.write_bytes(text.encode())
    places = {"backward": place_of(text, "größe.backward()", str(file)), "step": place_of(text, "opt.step()", str(file))}
    ((source, edits),) = REPAIRS["missing-zero-grad"](Diagnosis("missing-zero-grad", "finding", "", "", places), Program())
    assert source.edited(edits) == text.replace("größe.backward", "opt.zero_grad(); größe.backward")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("grad(y, x)", "grad(y, x, create_graph=True)"),
        ("grad(y, x, create_graph=False)", "grad(y, x, create_graph=True)"),
        ("grad(y, x, None, True, False)", "grad(y, x, None, True, True)"),
        ("grad(\n    y,\n    (x),\n)", "grad(\n    y,\n    (x),\n    create_graph=True,\n)"),
        ("grad(y, (x))", "grad(y, (x), create_graph=True)"),
    ],
)
def test_arguments(tmp_path, call, expected):
    assert repaired(tmp_path, "penalty-without-graph", f"g = {call}[0]  # why\n", grad=call) == [f"g = {expected}[0]  # why\n"]


def test_arguments_that_cannot_be_seen(tmp_path):
    with pytest.raises(ByHandError, match="create_graph=True into what is given with"):
        repaired(tmp_path, "penalty-without-graph", "grad(y, x, **options)\n", grad="grad(y, x, **options)")


@pytest.mark.parametrize(
    ("difference", "left", "right"),
    [
        ("a - b", "a.squeeze(-1) - b", "a - b.squeeze(-1)"),
        ("f(x) - (b + c)", "f(x).squeeze(-1) - (b + c)", "f(x) - (b + c).squeeze(-1)"),
        ("2 * a - b", "(2 * a).squeeze(-1) - b", "2 * a - b.squeeze(-1)"),
        ("mse(a + 1, b)", "mse((a + 1).squeeze(-1), b)", "mse(a + 1, b.squeeze(-1))"),
        ("a.sub(b)", "a.squeeze(-1).sub(b)", "a.sub(b.squeeze(-1))"),
    ],
)
def test_operands(tmp_path, difference, left, right):
    found = repaired(tmp_path, "broadcast", f"loss = ({difference}).mean()\n", here=difference)
    assert found == [f"loss = ({one}).mean()\n" for one in (left, right)]


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("import torch\np = torch.softmax(f(x), 1)\nloss = c(p, y)\n", "torch.softmax(f(x), 1)", "p = f(x)\n"),
        ("p = f(x).softmax(1)\nloss = c(p, y)\n", "f(x).softmax(1)", "p = f(x)\n"),
        ("class M:\n  def i(self):\n    self.s = nn.Softmax(1)\n  def f(self, x):\n    loss = self.s(x)\n", "self.s(x)", "    loss = x\n"),
        ("m = nn.Sequential(\n    a,\n    nn.Softmax(1),\n)\nloss = m(x)\n", "m(x)", "m = nn.Sequential(\n    a,\n)\n"),
        ("m = nn.Sequential(\n    a,\n    nn.Softmax(1)  # p\n)\nloss = m(x)\n", "m(x)", "m = nn.Sequential(\n    a,\n)\n"),
        ("m = nn.Sequential(a, nn.Softmax(1),)\nloss = m(x)\n", "m(x)", "m = nn.Sequential(a,)\n"),
    ],
)
def test_softmaxes(tmp_path, text, part, expected):
    (found,) = repaired(tmp_path, "softmax-twice", text, probabilities=part, loss="loss")
    assert expected in found
    assert "oftmax(1" not in found or "self.s = " in found


def test_probabilities_that_are_needed_elsewhere(tmp_path):
    text = "import torch\np = torch.softmax(f(x), 1)\nloss = c(p, y)\nentropy = -(p * p.log()).sum()\n"
    with pytest.raises(ByHandError, match="in line 4 too"):
        repaired(tmp_path, "softmax-twice", text, probabilities="torch.softmax(f(x), 1)", loss="loss")
    text = "p = f(x).sigmoid()\nloss = c(p, y)\nright = ((p > 0.5) == y).sum()\n"
    with pytest.raises(ByHandError, match="compare scores with 0"):
        repaired(tmp_path, "softmax-twice", text, fix="before the sigmoid", probabilities="f(x).sigmoid()", loss="loss")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("[nn.Linear(2, 2) for _ in range(3)]", "nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])"),
        ("{'a': Block()}", "nn.ModuleDict({'a': Block()})"),
        ("[nn.Parameter(w)]", "nn.ParameterList([nn.Parameter(w)])"),
    ],
)
def test_lists_of_layers(tmp_path, value, expected):
    text = (
        "from torch import nn\nclass M(nn.Module):\n  def __init__(self):\n    self.sizes = [1, 2]\n"
        f"    self.x = {value}\n  def forward(self, x):\n    return go(self.x)\nopt = SGD()\n"
    )
    (found,) = repaired(tmp_path, "not-in-optimizer", text, optimizer="SGD()", used="go(self.x)")
    assert found == text.replace(value, expected)


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import torch.nn as nn", "nn"),
        ("from torch import Tensor, nn", "nn"),
        ("import torch", "torch.nn"),
        ("import adjoint as ad  # here", "ad.nn"),
    ],
)
def test_the_spelling_of_the_file(imports, name):
    assert Source("train.py", f"{imports}\n").nn() == name


def test_strings_are_no_code(tmp_path):
    """Before Python 3.12 positions inside of them are wrong."""
    text = "loss.backward()\nlog += f'{loss} of {loss + 1}', loss\n"
    found = repaired(tmp_path, "graphs-kept", text, kept="log", backward="loss.backward()")
    assert found == [text.replace("', loss", f"', loss{suffix}") for suffix in (".item()", ".detach()")]


def test_generators_that_are_read_twice(tmp_path):
    text = "params = model.parameters()\nopt = SGD(params)\nclip(params, 1.0)\n"
    (found,) = repaired(tmp_path, "clip-without-effect", text, message="a generator can be read only once", clip="clip(params, 1.0)")
    assert found == text.replace("model.parameters()", "list(model.parameters())")


def test_methods_on_several_lines(tmp_path):
    """Positions of such calls begin with the method in newer versions of Python."""
    text = "loss = (\n    model(x)\n    .log()\n)\n"
    source = Source("train.py", text)
    assert source.code(source.call(Place("train.py", 3, 3, 5, 10))) == "model(x)\n    .log()"
    assert source.code(source.call(Place("train.py", 2, 3, 4, 10))) == "model(x)\n    .log()"


# ---- which repairs are made -------------------------------------------------------------------------------------------------------------

SORTED = "loader = DataLoader(data)\n"


def sorted_batches(tmp_path: Path, text: str = SORTED, **facts: Any) -> Diagnosis:
    file = tmp_path / "train.py"
    file.write_text(text, encoding="utf-8")
    place = place_of(text, "DataLoader(data)", str(file))
    return Diagnosis("sorted-batches", "finding", "sorted", "shuffle", {"loader": place}, (text.strip(),))


def test_a_repair_that_does_not_help_is_not_offered(tmp_path):
    before = Report([sorted_batches(tmp_path)])
    fix = fixed(before, lambda texts: before)
    assert not fix.texts and "does not help" in fix.by_hand[0][1]
    fix = fixed(before, lambda texts: Report([], "ValueError: no"))
    assert not fix.texts and "fails: ValueError: no" in fix.by_hand[0][1]
    fix = fixed(before, lambda texts: Report([]))
    assert [*fix.texts.values()] == [SORTED.replace("data)", "data, shuffle=True)")]


def test_a_finding_that_only_changes_its_words_is_not_repaired(tmp_path):
    before, found = Report([sorted_batches(tmp_path)]), sorted_batches(tmp_path)
    after = Report([Diagnosis(found.rule, found.grade, "sorted in other words", found.fix, found.places, ("other text",))])
    fix = fixed(before, lambda texts: after)
    assert not fix.texts and "the finding came back" in fix.by_hand[0][1]


def test_a_repair_that_uncovers_nothing_else_is_preferred(tmp_path):
    text = "loss = (a - b).mean()\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    found = Diagnosis("broadcast", "finding", "", "squeeze", {"here": place_of(text, "a - b", str(tmp_path / "train.py"))})
    other = Report([Diagnosis("diverges", "finding", "it diverges", "smaller steps")])
    fix = fixed(Report([found]), lambda texts: other if "a.squeeze" in next(iter(texts.values())) else Report([]))
    assert [*fix.texts.values()] == ["loss = (a - b.squeeze(-1)).mean()\n"]
    fix = fixed(Report([found]), lambda texts: other)
    assert [*fix.texts.values()] == ["loss = (a.squeeze(-1) - b).mean()\n"]
    assert [one.rule for one, _ in fix.by_hand] == ["diverges"]  # and there is no repair for it


def test_without_a_run_only_what_is_certain(tmp_path):
    fix = fixed_unchecked(Report([sorted_batches(tmp_path)]))
    assert [*fix.texts.values()] == [SORTED.replace("data)", "data, shuffle=True)")]
    text = "loss = (a - b).mean()\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    place = place_of(text, "a - b", str(tmp_path / "train.py"))
    fix = fixed_unchecked(Report([Diagnosis("broadcast", "finding", "", "squeeze", {"here": place})]))
    assert not fix.texts and "2 ways" in fix.by_hand[0][1]


def test_files_of_others_are_left_alone(tmp_path, monkeypatch):
    found = sorted_batches(tmp_path)
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "train.py").write_text(SORTED, encoding="utf-8")
    other = Diagnosis("sorted-batches", "finding", "", "", {"loader": Place(str(installed / "train.py"), 1, 1, 9, 25)})
    with pytest.raises(ByHandError, match="left alone"):
        next(REPAIRS["sorted-batches"](other, Program()))
    monkeypatch.chdir(installed)
    with pytest.raises(ByHandError, match="left alone"):
        next(REPAIRS["sorted-batches"](found, Program()))


# ---- the command ------------------------------------------------------------------------------------------------------------------------


def answering(monkeypatch, *reports: Report) -> None:
    """Let the program be examined with these results."""
    waiting = [*reports]
    monkeypatch.setattr(command, "examined", lambda *_, **__: waiting.pop(0) if len(waiting) > 1 else waiting[0])


def test_nothing_is_written_without_write(tmp_path, monkeypatch, capsys):
    answering(monkeypatch, Report([sorted_batches(tmp_path)]), Report([]))
    os.utime(tmp_path / "train.py", (0, 0))
    assert command.mend(["train.py"]) == 1
    assert (tmp_path / "train.py").read_text(encoding="utf-8") == SORTED
    shown = capsys.readouterr()
    assert shown.out.startswith("--- a/train.py\n+++ b/train.py\n") and "+loader = DataLoader(data, shuffle=True)\n" in shown.out
    assert "1 repair, checked" in shown.err


@pytest.mark.parametrize("option", [[], ["--no-verify"]])
def test_write(tmp_path, monkeypatch, option):
    answering(monkeypatch, Report([sorted_batches(tmp_path)]), Report([]))
    (tmp_path / "train.py").chmod(0o755)
    os.utime(tmp_path / "train.py", (0, 0))
    assert command.mend(["--write", *option, "train.py"]) == 0
    assert (tmp_path / "train.py").read_text(encoding="utf-8") == SORTED.replace("data)", "data, shuffle=True)")
    assert (tmp_path / "train.py").stat().st_mode & 0o777 == 0o755
    assert [*tmp_path.iterdir()] == [tmp_path / "train.py"]


def test_exit_codes(tmp_path, monkeypatch, capsys):
    answering(monkeypatch, Report([]))
    assert command.mend(["train.py"]) == 0
    assert "nothing to repair" in capsys.readouterr().err
    answering(monkeypatch, Report([Diagnosis("diverges", "finding", "it diverges", "smaller steps")]))
    assert command.mend(["train.py"]) == 1
    assert "by hand: smaller steps" in capsys.readouterr().err
    answering(monkeypatch, Report([Diagnosis("update-ratio", "note", "long steps", "smaller steps")]))
    assert command.mend(["train.py"]) == 0
    assert command.mend(["--ignore", "no-such-rule", "train.py"]) == 2


def test_a_file_that_has_changed_meanwhile_is_not_written(tmp_path, monkeypatch, capsys):
    answering(monkeypatch, Report([sorted_batches(tmp_path)]), Report([]))
    os.utime(tmp_path / "train.py", (2**32, 2**32))
    assert command.mend(["--write", "train.py"]) == 2
    assert "has changed since" in capsys.readouterr().err
    assert (tmp_path / "train.py").read_text(encoding="utf-8") == SORTED


def test_repairs_of_several_files_are_run_in_processes_of_their_own(tmp_path):
    """The repaired texts are run before they are written, also of modules that are imported."""
    (tmp_path / "losses.py").write_text("def squares(a, b):\n    return ((a - b) ** 2).mean()\n", encoding="utf-8")
    (tmp_path / "train.py").write_text(
        "import sys\nimport torch\nfrom losses import squares\n\n"
        "x = torch.linspace(0, 1, 20).reshape(10, 2)\nmodel = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\nfor _ in range(int(sys.argv[1])):\n"
        "    loss = squares(model(x), x[:, 0] * 1)\n    loss.backward()\n    optimizer.step()\nprint('done')\n",
        encoding="utf-8",
    )
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-m", "adjoint", "fix", "--write", "train.py", "8"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "done" in done.stderr and "done" not in done.stdout.replace(" print('done')", "")
    assert "(a.squeeze(-1) - b)" in (tmp_path / "losses.py").read_text(encoding="utf-8")
    assert "    optimizer.zero_grad()\n    loss.backward()\n" in (tmp_path / "train.py").read_text(encoding="utf-8")
    assert done.stdout.count("+++ ") == 2
