"""The pages to play with: each number that they show is adjoint's."""

from __future__ import annotations

import itertools

import pytest

from adjoint.lab.pages import depth, differences, freed, leaves, modes, vector


def values(page, selector):
    return page.eval_on_selector_all(selector, "all => all.map(e => e.dataset.value === 'NaN' ? NaN : +e.dataset.value)")


@pytest.mark.parametrize("switches", list(itertools.product((False, True), repeat=3)))
def test_leaves(show, files, switches):
    page = show(f"{files}leaves.html")
    for name, on in zip(leaves.SWITCHES, switches, strict=True):
        page.set_checked(f"#{name}", on)
    run = leaves.run(leaves.program(*switches))
    rows = page.eval_on_selector_all("#facts tr", "rows => rows.map(row => [...row.children].map(cell => cell.textContent))")
    shown = {row[0]: row[1:] for row in rows}
    assert list(shown) == list(run["tensors"])
    for name, facts in run["tensors"].items():
        grad = "None" if facts["grad"] is None else f"{facts['grad']:g}"
        assert shown[name] == [f"{facts['value']:g}", str(facts["leaf"]), str(facts["requires_grad"]), str(facts["grad_fn"]), grad]
    assert page.locator("#said .kind").count() == (run["error"] is not None)
    if run["error"]:
        assert run["error"]["message"].split("\n")[0] in page.inner_text("#said")
        assert page.get_attribute("#code li.hot", "data-n") == str(run["error"]["line"])


def test_vector(show, files):
    page = show(f"{files}vector.html")
    for v in ([1.0, 0.5, -1.0], [0.0, 0.0, 0.0], [-2.0, 1.5, 2.0]):
        for i, weight in enumerate(v):
            page.fill(f"#v{i}", str(weight))
        assert values(page, ".sum") == pytest.approx(vector.gradient(v))
    for label, v in (("all ones: y.sum()", [1.0] * 3), ("all 1/3: y.mean()", [1 / 3] * 3), ("only y₁", [0.0, 1.0, 0.0])):
        page.get_by_role("button", name=label).click()
        assert values(page, ".sum") == pytest.approx(vector.gradient(v), rel=1e-6)
    assert "grad can be implicitly created only for scalar outputs" in page.inner_text("#refusal")


@pytest.mark.parametrize(("n", "m"), [(8, 1), (1, 8), (3, 5)])
def test_modes(show, files, n, m):
    page = show(f"{files}modes.html#step=0&n={n}&m={m}")
    columns, rows = modes.columns(), modes.rows()
    for passes in range(1, max(n, m) + 1):
        page.keyboard.press("ArrowRight")
        for mode, total, known, value in (
            ("forward", n, min(passes, n) * m, lambda i, j: columns[j][i]),
            ("reverse", m, min(passes, m) * n, lambda i, j: rows[i][j]),
        ):
            assert page.inner_text(f"#count-{mode}").startswith(f"{min(passes, total)} of {total} pass")
            shown = dict(page.eval_on_selector_all(f"#grid-{mode} [data-entry]", "all => all.map(e => [e.dataset.entry, e.textContent])"))
            assert len(shown) == known
            for entry, text in shown.items():
                i, j = map(int, entry.split(","))
                assert float(text.replace("\N{MINUS SIGN}", "-")) == pytest.approx(value(i, j), abs=0.006)
    assert f"{min(n, m)} pass" in page.inner_text("#story")


@pytest.mark.parametrize("ending", freed.ENDINGS)
def test_freed(show, files, ending):
    page = show(f"{files}freed.html#step=0&ending={ending}")
    run = freed.run(ending)
    for step in range(len(run["steps"])):
        alive = {p["memory"]: p["bytes"] for p in run["saved"] if p["from"] <= step < p["until"]}
        assert int(page.get_attribute("#held", "data-bytes")) == sum(alive.values())
        assert page.locator("#lives .alive").count() == sum(p["from"] <= step < p["until"] for p in run["saved"])
        assert page.get_attribute("#code li.on, #code li.hot", "data-n") == str(run["steps"][step]["line"])
        page.keyboard.press("ArrowRight")
    assert ("GraphFreedError" in page.inner_text("main")) == (ending == "once")


@pytest.mark.parametrize("name", differences.FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_differences(show, files, name, dtype):
    page = show(f"{files}differences.html#f={name}&dtype={dtype}")
    data = differences.record()["functions"][name]
    for k in (0, 5, 12, 32):
        page.fill("#h", str(32 - k))
        assert values(page, "#facts [data-value]") == [data["derivative"], data[dtype]["forward"][k], data[dtype]["central"][k]]


def test_depth(show, files):
    page = show(f"{files}depth.html")
    for activation, layers, gain, skip in [("tanh", 8, "half", False), ("relu", 32, "he", False), ("sigmoid", 16, "two", True)]:
        for box, value in (("activation", activation), ("depth", layers), ("gain", gain)):
            page.click(f"#{box} [data-value='{value}']")
        page.set_checked("#skip", skip)
        norms = depth.norms(layers, activation, gain, skip)
        assert values(page, "#facts [data-value]") == pytest.approx([norms[0], norms[-1], norms[0] / norms[-1]], rel=1e-3)
        assert page.locator("#chart circle").count() == layers


def test_what_was_committed_to_stays(show, lab):
    page = show(f"{lab}accumulate.html")
    aside = page.locator(".aside").first
    assert aside.locator(".why").inner_text() == ""
    aside.get_by_role("button", name="True").click()
    assert aside.locator(".why").inner_text().startswith("Not so.")
    page.reload()
    assert page.locator(".aside").first.locator(".why").inner_text().startswith("Not so.")
