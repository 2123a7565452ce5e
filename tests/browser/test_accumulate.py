"""The accumulation demo: what it draws is what adjoint computes."""

from __future__ import annotations

import pytest

from adjoint.lab.pages import accumulate


def shown(page, side):
    return page.eval_on_selector_all(f"#read-{side} [data-value]", "all => all.map(e => +e.dataset.value)")


@pytest.mark.parametrize(("lr", "steps"), [(0.1, 40), (0.02, 12), (0.4, 60)])
def test_the_page_computes_like_adjoint(show, files, lr, steps):
    """The page runs the two loops itself, so that every setting can be tried."""
    page = show(f"{files}accumulate.html")
    start = [-2.5, 0.75]
    for clear in (True, False):
        rows = page.evaluate("([clear, start, lr, n]) => lab.line.train(clear, start, lr, n)", [clear, start, lr, steps])
        for row, (w, b, loss, gw, gb) in zip(rows, accumulate.train(clear, tuple(start), lr, steps), strict=True):
            assert [row["w"], row["b"], row["loss"], *row["grad"]] == pytest.approx([w, b, loss, gw, gb], rel=1e-9, abs=1e-12)


def test_step_by_step(show, files):
    page = show(f"{files}accumulate.html#step=0")
    kept, cleared = accumulate.train(clear=False), accumulate.train(clear=True)
    assert page.inner_text("#story").startswith("In the first step both loops do the same")
    for step in range(1, 6):
        page.click("#step")
        assert shown(page, "left") == pytest.approx([*kept[step][3:], kept[step][2]])
        assert shown(page, "right") == pytest.approx([*cleared[step][3:], cleared[step][2]])
        assert f"the sum of {step + 1} gradients" in page.inner_text("#story")
    page.keyboard.press("ArrowLeft")
    assert shown(page, "left") == pytest.approx([*kept[4][3:], kept[4][2]])
    page.keyboard.press("Home")
    assert page.is_disabled("#back")
    assert shown(page, "left") == shown(page, "right")


def test_play_runs_to_the_end_and_stops(show, files):
    page = show(f"{files}accumulate.html#step=36")
    page.click("#play")
    page.wait_for_function("() => document.getElementById('at').value === '39'")
    page.wait_for_selector("#play[aria-label=Play]")


def test_nothing_forgotten(show, files):
    page = show(f"{files}accumulate.html#step=9")
    page.uncheck("#forget")
    assert shown(page, "left") == shown(page, "right")
    assert page.inner_text("#story") == "Both loops clear .grad, so they agree."
    assert page.inner_text("#left-name") == "Cleared here too"


def test_learning_rate_and_steps(show, files):
    page = show(f"{files}accumulate.html#step=9")
    page.fill("#lr", "-1.5")
    page.fill("#n", "20")
    assert page.get_attribute("#at", "max") == "19"
    lr = float(page.inner_text("#lr-out"))
    assert shown(page, "left") == pytest.approx([*accumulate.train(False, lr=lr)[9][3:], accumulate.train(False, lr=lr)[9][2]])


def test_another_start(show, files):
    page = show(f"{files}accumulate.html#step=9")
    before = shown(page, "right")
    page.focus("#plane-right")
    page.keyboard.press("ArrowUp")
    assert shown(page, "right") != before
    rows = accumulate.train(True, start=(-1.6, 1.6))
    assert shown(page, "right") == pytest.approx([*rows[9][3:], rows[9][2]])


def test_four_micro_batches_equal_one_batch(show, files):
    page = show(f"{files}accumulate.html")
    page.click("#clear")
    assert page.inner_text("#verdict").startswith(".grad is empty")
    for part in range(4):
        page.click("#add")
        texts = page.eval_on_selector_all("#bars text.num", "all => all.map(e => e.textContent)")
        for value in accumulate.micro_batches(0.25)[part]:
            assert f"{value:.2f}".replace("-", "\N{MINUS SIGN}") in texts
    assert page.inner_text("#verdict").startswith("Equal.")
    page.uncheck("#quarter")
    assert page.inner_text("#verdict").startswith("4 times too large.")
