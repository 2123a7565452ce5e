"""The lab's server over plain HTTP: what it gives, and whom it refuses."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from adjoint import cli
from adjoint.lab import pages
from adjoint.lab.server import POLICY, Lab

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lab():
    with Lab() as lab:
        thread = threading.Thread(target=lab.serve_forever)
        thread.start()
        yield lab
        lab.shutdown()
        thread.join()


def ask(lab, path="", method="GET", body=None, secret=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", lab.server_address[1], timeout=60)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, f"/{lab.secret if secret is None else secret}/{path}", body=body, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read().decode()
    finally:
        connection.close()


def run(lab, request, **headers):
    return ask(lab, "run", "POST", json.dumps(request), **headers)


def test_listens_on_this_machine_only(lab):
    assert lab.server_address[0] == "127.0.0.1"
    assert urlsplit(lab.address).path == f"/{lab.secret}/"


def test_the_address_leads_to_the_overview(lab):
    answer, _ = ask(lab)
    assert answer.status == 302
    assert answer.headers["Location"] == f"/{lab.secret}/index.html"


@pytest.mark.parametrize("name", pages.names())
def test_gives_every_file(lab, name):
    answer, body = ask(lab, name)
    assert answer.status == 200
    assert len(body) > 20
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "http://" not in body.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert "https://" not in body


@pytest.mark.parametrize("name", ["__init__.py", "../server.py", "..%2fserver.py", "accumulate", "/etc/passwd", "nothing.html"])
def test_gives_nothing_else(lab, name):
    answer, _ = ask(lab, name)
    assert answer.status == 404


@pytest.mark.parametrize("secret", ["", "x", "wrong" * 8, "index.html"])
def test_refuses_a_wrong_secret(lab, secret):
    answer, body = ask(lab, "index.html", secret=secret)
    assert answer.status == 403
    assert "contains the key" in body
    assert run(lab, {"code": "1"}, secret=secret)[0].status == 403


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "localhost:1", "lab.example.org:80"])
def test_refuses_a_wrong_host(lab, host):
    answer, body = ask(lab, "index.html", Host=host)
    assert answer.status == 403
    assert lab.secret not in body
    assert run(lab, {"code": "1"}, Host=host)[0].status == 403


@pytest.mark.parametrize("origin", ["https://example.org", "null", "http://127.0.0.1", "http://127.0.0.1:1"])
def test_refuses_a_wrong_origin(lab, origin):
    assert ask(lab, "index.html", Origin=origin)[0].status == 403
    assert run(lab, {"code": "1"}, Origin=origin)[0].status == 403


def test_runs_a_program_for_its_own_pages(lab):
    answer, body = run(lab, {"code": "print(6 * 7)", "trace": False}, Origin=f"http://{lab.hosts[0]}")
    assert answer.status == 200
    assert json.loads(body) == {"output": "42\n"}


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", '{"code": 1}', '{"code": "1", "trace": 1}'])
def test_says_how_a_program_is_sent(lab, body):
    answer, said = ask(lab, "run", "POST", body)
    assert answer.status == 400
    assert '{"code": "..."}' in said


def test_refuses_what_is_too_long(lab):
    answer, _ = ask(lab, "run", "POST", "1", Content_Length=str(10**9))
    assert answer.status == 413


def test_ctrl_c_ends_it_cleanly():
    # A process started in the background may have been told to ignore it.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    start += "; import adjoint.cli; adjoint.cli.main(['lab', '--no-browser'])"
    with subprocess.Popen(
        [sys.executable, "-c", start], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    ) as process:
        assert process.stdout.readline().startswith("The lab is at http://127.0.0.1:")
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said, complaint = process.communicate(timeout=60)
    assert (process.returncode, said.strip(), complaint) == (0, "The lab is closed.", "")


def test_a_port_that_cannot_be_used(lab, capsys):
    for port in (lab.server_address[1], 10**5):
        assert cli.main(["lab", "--no-browser", "--port", str(port)]) == 1
        assert "--port 0 takes a free one" in capsys.readouterr().err


def test_who_leaves_before_the_answer_is_not_reported(lab, capfd):
    with socket.create_connection(lab.server_address) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # hangs up at once
        connection.sendall(f"GET /{lab.secret}/check.data.js HTTP/1.1\r\nHost: {lab.hosts[0]}\r\n\r\n".encode())
    assert ask(lab, "index.html")[0].status == 200
    assert capfd.readouterr().err == ""
