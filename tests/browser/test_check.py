"""The knowledge check: all questions answered, right and wrong; and programs that go wrong in every way leave the lab usable."""

from __future__ import annotations

import pytest

from adjoint.lab import questions

ALL = questions.questions()


def answer(page, question, right=True):
    picks = [bool(one.get("right")) == right for one in question["answer"]]
    page.check(f"#answer-{picks.index(True)}")
    page.click("#commit")


@pytest.mark.parametrize("place", ["lab", "files"])
def test_all_answered(show, place, request):
    page = show(f"{request.getfixturevalue(place)}check.html")
    assert page.inner_text("#score") == "Nothing answered yet."
    for number, question in enumerate(ALL, 1):
        assert page.is_disabled("#commit")
        assert page.locator(".answer p").count() == 0  # nothing is explained before
        answer(page, question)
        assert page.inner_text("#verdict") == "Right."
        assert [text.replace("`", "") for text in page.locator(".answer p").all_inner_texts()] == [
            one["why"].replace("`", "") for one in question["answer"]
        ]
        page.click("#run")
        page.wait_for_selector(".answered pre")
        assert page.inner_text(".answered pre").strip() == question["prints"].strip()
        if number < len(ALL):
            page.click("#next")
    assert page.inner_text("#score") == "10 of 10 right."


def test_a_wrong_answer_is_told_why(show, files):
    page = show(f"{files}check.html#q=3")
    answer(page, ALL[2], right=False)
    assert page.inner_text("#verdict") == "Not so: b is right."
    assert page.locator(".answer.bad .mark").inner_text() == "your answer"
    assert page.locator(".answer.good .mark").inner_text() == "right"
    assert page.inner_text("#score") == "0 right of 1 answered."


def test_the_score_stays_in_the_browser(show, lab):
    page = show(f"{lab}check.html")
    answer(page, ALL[0])
    page.reload()
    assert page.inner_text("#score") == "1 right of 1 answered."
    page.click("#again")
    assert page.inner_text("#score") == "Nothing answered yet."
    page.reload()
    assert page.inner_text("#score") == "Nothing answered yet."


def test_by_keyboard(show, files):
    page = show(f"{files}check.html")
    page.focus("#answer-0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.inner_text("#verdict") == "Right."


WRONG = {
    "a syntax error": ("x = (1,\n", "SyntaxError, line 1", "never closed"),
    "an endless loop": ("n = 0\nwhile True:\n    n += 1\n", "TimeLimit, line", "more than 3 seconds"),
    "a huge allocation": ("import adjoint as ad\nx = ad.zeros(10**11)\n", "MemoryError, line 2", "Programs of the lab get"),
    "a crash": ("import os\nos.abort()\n", "Crash", "the lab goes on"),
    "an error of adjoint": ("import adjoint as ad\nad.ones(3).backward()\n", "line 2", "does not require grad"),
}


def test_the_editor_survives_every_mistake(show, lab):
    page = show(f"{lab}check.html")
    answer(page, ALL[0])
    for code, kind, message in WRONG.values():
        page.fill("textarea", code)
        page.press("textarea", "Control+Enter")
        page.wait_for_function("kind => (document.querySelector('.said .kind')?.textContent || '').includes(kind)", arg=kind)
        assert message in page.inner_text(".said")
        assert page.locator(".band").is_visible() == ("line" in kind)
    page.fill("textarea", "print(6 * 7)")
    page.click("#run")
    page.wait_for_function("() => document.querySelector('.said').textContent === '42'")
    assert not page.locator(".band").is_visible()
