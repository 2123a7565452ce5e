"""A backward pass in the lab's page."""

import json
import threading
import urllib.error
import urllib.request
import webbrowser

import pytest

import adjoint as ad
from adjoint.debugging.page import PassPage, trace_of
from adjoint.debugging.terminal import Quit
from tests.debugging.test_session import session_of
from tests.debugging.test_terminal import Fails


def words(event):
    return "".join(part if isinstance(part, str) else part[0] for part in event["formula"])


def test_a_trace_of_a_pass_is_that_of_the_program():
    """What a program's recording tells of its backward pass, the graph alone tells too, once the pass has come to its end."""
    code = """x = ad.tensor([4.0, 9.0], requires_grad=True)
w = ad.tensor([2.0, 3.0], requires_grad=True)
y = x.sqrt() * w
z = (y * 3).sum() + w.prod()
z.backward()"""
    expected = [event for event in ad.viz.trace(code)["events"] if "pass" in event]
    x = ad.tensor([4.0, 9.0], requires_grad=True)
    w = ad.tensor([2.0, 3.0], requires_grad=True)
    y = x.sqrt() * w
    z = (y * 3).sum() + w.prod()
    session = session_of(z)
    session.finish()
    trace = trace_of(session)
    found = [event for event in trace["events"] if "pass" in event]
    assert [event["kind"] for event in found] == [event["kind"] for event in expected]
    assert [event["grad"] for event in found] == [event["grad"] for event in expected]
    assert words(found[-1]) == words(expected[-1]) and trace["format"] == "adjoint-trace/1"
    assert any(words(event).startswith("∂z/∂x = ") and "⊙ 1 / (2·" in words(event) for event in found)
    nodes = {node["name"]: node for node in trace["nodes"]}
    assert nodes["y"]["value"] == [4.0, 9.0] and nodes["w"]["kind"] == "leaf" and y.grad_fn is not None
    json.dumps(trace, allow_nan=False)


def test_it_tells_what_has_happened_so_far_and_what_was_replaced():
    x = ad.tensor([4.0, 9.0], requires_grad=True)
    loss = (x * 2).sum()
    session = session_of(loss)
    assert not any("pass" in event for event in trace_of(session)["events"])
    session.next()
    session.next()
    session.replace(5.0)
    told = [event for event in trace_of(session)["events"] if "pass" in event]
    assert [event["kind"] for event in told] == ["seed", "deliver", "hook"]
    assert told[-1]["says"].startswith("The debugger on x") and told[-1]["after"] == [5.0, 5.0]
    session.finish()
    assert trace_of(session)["events"][-1]["after"] == [10.0, 10.0] == x.grad.tolist()


def test_values_that_were_not_kept():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    session = session_of((x + 1).sum())
    session.finish()
    (node,) = [node for node in trace_of(session)["nodes"] if node.get("grad_fn") == "AddBackward0"]
    assert node["value"] is None and node["requires_grad"]


def test_a_deep_graph_and_a_limit():
    x = ad.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(1500):
        y = y * 1.0
    session = session_of(y)
    session.finish()
    assert trace_of(session)["truncated"]


@pytest.fixture
def opened(monkeypatch):
    """Addresses that were to be opened in a browser, each with what it showed then."""
    seen = []

    def look(address):
        with urllib.request.urlopen(address) as answer:
            page = answer.read().decode()
        with urllib.request.urlopen(address.replace("graph.html", "graph.data.js")) as answer:
            data = answer.read().decode()
        seen.append((page, json.loads(data.removeprefix("lab.data = ").rstrip(";\n"))))

    monkeypatch.setattr(webbrowser, "open", look)
    return seen


def ask(address, command):
    request = urllib.request.Request(
        address.replace("graph.html", "debug"), json.dumps({"command": command}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def asking(monkeypatch, *commands):
    """Let the page that is opened type commands; the answers."""
    answers = []

    def type_them(address):
        for command in commands:
            answers.append(ask(address, command))

    threads = []

    def look(address):
        threads.append(threading.Thread(target=type_them, args=(address,)))
        threads[0].start()

    monkeypatch.setattr(webbrowser, "open", look)
    return answers, threads


def test_the_page_has_a_prompt(monkeypatch, capsys):
    answers, threads = asking(monkeypatch, "next", "set g * 10", "nonsense", "back", "continue")
    x = ad.tensor([4.0, 9.0], requires_grad=True)
    ad.debug((x * x).sum(), page=True)
    threads[0].join()
    first, edited, unknown, back, last = answers
    assert x.grad.tolist() == [80.0, 180.0] and capsys.readouterr().out.startswith("This pass is at http://127.0.0.1:")
    assert "[2/3] MulBackward0" in first["output"] and first["pass"]["events"][-1]["kind"] == "deliver" and not first["over"]
    assert edited["output"] == "  given  [10, 10], edited\n" and edited["pass"]["events"][-1]["kind"] == "hook"
    assert "there is no command" in unknown["output"] and "[1/3] SumBackward0" in back["output"]
    assert last["over"] and last["pass"]["events"][-1]["kind"] == "accumulate" and "The program goes on" in last["output"]


def test_what_ends_the_pass_is_told_to_the_page(monkeypatch):
    x = ad.tensor(4.0, requires_grad=True)
    answers, threads = asking(monkeypatch, "quit")
    with pytest.raises(Quit):
        ad.debug(x * 2, page=True)
    threads[0].join()
    assert answers[0]["over"] and "The pass was undone." in answers[0]["output"] and x.grad is None
    answers, threads = asking(monkeypatch, "next")
    with pytest.raises(ValueError, match="not today"):
        ad.debug(Fails.apply(x), page=True)
    threads[0].join()
    assert answers[0]["over"] and "ValueError: not today" in answers[0]["output"]


def test_a_page_that_shows_no_prompt_takes_no_commands():
    page = PassPage()
    try:
        with pytest.raises(urllib.error.HTTPError, match="404"):
            ask(page.address, "next")
    finally:
        page.close()


def test_commands_that_are_given_come_first(opened, capsys):
    x = ad.tensor([4.0, 9.0], requires_grad=True)
    ad.debug((x * x).sum(), page=True, breakpoints=["param:x"], commands=["continue"])
    ((page, data),) = opened
    assert x.grad.tolist() == [8.0, 18.0] and "graph.js" in page and data["pass"] and data["prompt"]
    assert "stopped by 1, param:x" in data["said"]


def test_the_page_follows_the_terminal(opened, capsys):
    x = ad.tensor([4.0, 9.0], requires_grad=True)
    ad.debug((x * x).sum(), commands=["n", "web", "n", "web", "c"])
    first, second = (data["examples"][0] for _, data in opened)
    assert first["begins"] == len(first["events"]) < len(second["events"])


def test_the_page_has_no_other_examples():
    x = ad.tensor(1.0, requires_grad=True)
    page = PassPage()
    try:
        page.show(session_of(x * 2))
        assert page.lab.own["graph.data.js"].startswith(b"lab.data = {")
    finally:
        page.close()
