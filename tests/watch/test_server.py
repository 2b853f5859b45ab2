"""The page by HTTP: for whoever has its address, under its own name, on this machine."""

import http.client
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from tests.watch.sweep_at_work import at_work, finish, under_way
from watch.follower import Follower
from watch.server import Server


@pytest.fixture
def server(tmp_path):
    finish(tmp_path, "ecmp")
    at_work(tmp_path, under_way())
    with Server(Follower(tmp_path)) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), answer.headers


def test_the_page_and_its_parts(server):
    for name, word in (
        ("", "A running sweep"),
        ("now.json", '"at_work": true'),
        ("finished.html", "Finished so far"),
    ):
        status, body, headers = ask(server, f"/{server.secret}/{name}")
        assert status == 200
        assert word in body
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Cache-Control"] == "no-store"
    assert ask(server, f"/{server.secret}/report.html")[0] == 404
    (server.follower.folder / "report.html").write_text("the report")
    assert ask(server, f"/{server.secret}/report.html")[1] == "the report"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/wrong/",
        "/wrong/now.json",
        "/%2e%2e/",
        "//",
        "/{secret}x/",
        "/{secret}/../../etc/passwd",
        "/{secret}/sweep.json",
    ],
)
def test_nothing_else_is_served(server, path):
    path = path.replace("{secret}", server.secret).encode().decode("latin-1") or "*"
    assert ask(server, path)[0] == 404


def test_a_name_that_somebody_else_gave_this_machine_gets_no_answer(server):
    """A web page elsewhere may have its own name resolved to 127.0.0.1, and would read what it is answered."""
    assert ask(server, f"/{server.secret}/", Host="evil.example")[0] == 404
    assert ask(server, f"/{server.secret}/", Host=f"localhost:{server.server_port}")[0] == 200


def test_it_listens_on_loopback_alone(server):
    assert server.server_address[0] == "127.0.0.1"


def test_the_command_tells_its_address_and_ends_when_told(tmp_path):
    hedera = Path(sys.executable).with_name("hedera")
    process = subprocess.Popen([hedera, "watch", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = process.stdout.readline()
    assert said.startswith("watch it at http://127.0.0.1:")
    os.kill(process.pid, signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    done = subprocess.run([hedera, "watch", tmp_path / "none"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "does not exist" in done.stderr


def test_under_nohup_it_outlives_its_terminal(tmp_path):
    hedera = Path(sys.executable).with_name("hedera")
    with subprocess.Popen(["nohup", hedera, "watch", tmp_path], stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().split()[-1]
        process.send_signal(signal.SIGHUP)
        with urllib.request.urlopen(address, timeout=120) as page:
            assert page.status == 200
        process.terminate()
        assert process.wait(120) == 0
