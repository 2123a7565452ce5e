"""The lab as files."""

from __future__ import annotations

from adjoint import cli
from adjoint.lab import pages


def test_writes_every_file(tmp_path, capsys):
    assert cli.main(["lab", "--static", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(pages.names())
    assert "index.html" in capsys.readouterr().out
    assert "data-live" not in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert cli.main(["lab", "--static", str(tmp_path / "file")]) == 1
    assert "cannot be written there" in capsys.readouterr().err
