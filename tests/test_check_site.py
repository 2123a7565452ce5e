"""`tools/check_site.py` notices links that lead nowhere, and pages that load something from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_site import main, problems

OTHER = '<h1 id="top">other</h1><a href="page.html">back</a>'


def site(folder: Path, body: str, style: str = "") -> Path:
    (folder / "assets").mkdir()
    (folder / "assets" / "style.css").write_text(style)
    (folder / "page.html").write_text(f"<html><body id='here'>{body}</body></html>")
    (folder / "other.html").write_text(OTHER)
    return folder


@pytest.mark.parametrize(
    "body",
    [
        '<a href="other.html">a page</a>',
        '<a href="other.html#top">an anchor</a><a href="#here">one of this page</a>',
        '<a href="https://example.org/far">a reader may go elsewhere</a>',
        '<link rel="stylesheet" href="assets/style.css"><script src="assets/style.css"></script>',
        '<img src="data:image/png;base64,AAAA">',
        '<iframe src="other.html#step=3"></iframe>',
    ],
    ids=["page", "anchor", "elsewhere", "assets", "data", "state"],
)
def test_good_references(body, tmp_path):
    assert list(problems(site(tmp_path, body))) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="gone.html">x</a>', "gone.html leads to no file"),
        ('<a href="other.html#bottom">x</a>', "other.html#bottom leads to no anchor of other.html"),
        ('<a href="#there">x</a>', "#there leads to no anchor of page.html"),
        ('<a href="../outside.html">x</a>', "../outside.html leads to no file"),
        ('<img src="picture.svg">', "picture.svg leads to no file"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js from elsewhere"),
        ('<script src="//example.org/x.js"></script>', "loads //example.org/x.js from elsewhere"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "loads https://example.org/x.css from elsewhere"),
        ("<style>@import 'https://example.org/x.css';</style>", "loads https://example.org/x.css from elsewhere"),
        ('<p style="background: url(gone.png)">x</p>', "gone.png leads to no file"),
    ],
)
def test_bad_references(body, problem, tmp_path):
    (tmp_path / "outside.html").write_text(OTHER)
    (tmp_path / "site").mkdir()
    assert list(problems(site(tmp_path / "site", body))) == [f"page.html: {problem}"]


def test_style_sheets_load_nothing_from_elsewhere(tmp_path):
    site(tmp_path, "", "@font-face { src: url('https://example.org/font.woff2') } p { background: url(style.css) }")
    assert list(problems(tmp_path)) == ["assets/style.css: loads https://example.org/font.woff2 from elsewhere"]


def test_an_empty_site_is_none(tmp_path):
    assert len(list(problems(tmp_path))) == 1


def test_command_says_what_is_wrong(tmp_path, capsys):
    assert main([str(site(tmp_path, '<a href="gone.html">x</a>'))]) == 1
    assert capsys.readouterr().out == "page.html: gone.html leads to no file\n"
    (tmp_path / "page.html").write_text(OTHER)
    assert main([str(tmp_path)]) == 0
