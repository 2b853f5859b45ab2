"""Attacks on the page that follows a sweep: by other users of the machine, and by whoever wrote the folder."""

import http.client
import json
import os
import threading
import time

import pytest

from tests.hostile.enemy import UID, attack, begin, end, theirs
from tests.watch.sweep_at_work import at_work, finish, under_way
from watch import server as module
from watch.follower import Follower
from watch.server import Server

pytestmark = [pytest.mark.root, pytest.mark.timeout(600)]
FETCH = """
def fetch(method, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read().decode("utf-8", "replace")
"""


@pytest.fixture
def folder(tmp_path):
    """A sweep that is the enemy's, with all that is in it."""
    made = theirs(theirs(tmp_path / "home") / "sweep")
    finish(made, "ecmp")
    at_work(made, under_way())
    for path in made.rglob("*"):
        os.chown(path, UID, UID)
    return made


@pytest.fixture
def server(folder, monkeypatch):
    monkeypatch.setattr(module, "ASK_S", 1.0)
    with Server(Follower(folder)) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, name):
    """What the page's own user gets, and soon."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    connection.request("GET", f"/{server.secret}/{name}")
    answer = connection.getresponse()
    return answer.status, answer.read()


def assert_it_serves(server):
    for name in ("", "finished.html"):
        assert ask(server, name)[0] == 200
    assert json.loads(ask(server, "now.json")[1])["revision"] >= 1


def test_reading_the_page_without_its_secret(server):
    """Another user asks for the page, by every name but the one that cannot be guessed."""
    paths = (
        "/",
        "/now.json",
        "/x/",
        "//",
        "/x/now.json",
        "/%00/",
        "/../",
        "/finished.html",
        "*",
        "http://a/b/",
    )
    said = attack(FETCH + "for path in sys.argv[2:]:\n    print(*fetch('GET', path))\n", server.server_port, *paths)
    assert [line[:3] for line in said.splitlines() if line[:3].isdecimal()] == ["404"] * len(paths)
    assert "stride" not in said
    assert server.secret not in said


def test_finding_the_secret_where_others_look(server):
    """Another user looks for the page's address in the command lines and environments of all processes."""
    program = """
for pid in filter(str.isdecimal, os.listdir("/proc")):
    for name in ("cmdline", "environ"):
        try:
            print(Path("/proc", pid, name).read_bytes())
        except OSError:
            pass
"""
    assert server.secret not in attack(program)


def test_a_name_that_is_rebound_to_loopback(server):
    """A web page elsewhere has its own name resolve to 127.0.0.1, and knows the secret."""
    program = FETCH + "print(*[fetch('GET', f'/{sys.argv[2]}/', Host=h)[0] for h in sys.argv[3:]])"
    hosts = ("evil.example", "", "127.0.0.1", "127.0.0.1:1", f"evil.example:{server.server_port}")
    assert attack(program, server.server_port, server.secret, *hosts).split() == ["404"] * len(hosts)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "HEAD", "GET\tX"])
def test_any_other_method(server, method):
    """Another user asks for something else than a page, and so might a web page elsewhere."""
    program = """
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10) as peer:
    peer.sendall(f"{sys.argv[3]} /{sys.argv[2]}/ HTTP/1.0\\r\\nHost: 127.0.0.1:{sys.argv[1]}\\r\\n\\r\\n".encode())
    print(peer.makefile("rb").readline().decode())
"""
    said = attack(program, server.server_port, server.secret, method)
    assert said.split()[1] in ("400", "501")
    assert_it_serves(server)


def test_connections_that_ask_nothing(server):
    """Another user opens 300 connections and says nothing: each cost a thread, for ever."""
    program = """
idle = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(300)]
print("ready", flush=True)
time.sleep(60)
"""
    before = threading.active_count()
    idle, _ = begin(program, server.server_port)
    try:
        assert_it_serves(server)
        assert threading.active_count() - before <= 64
        time.sleep(2)
        assert threading.active_count() - before <= 2, "each had its second"
    finally:
        end(idle)


def test_questions_that_never_end(server):
    """Slow loris: another user's browsers send a byte of their question now and then."""
    program = """
slow = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(20)]
for each in slow:
    each.sendall(b"GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n")
print("ready", flush=True)
while True:
    time.sleep(0.1)
    for each in slow:
        try:
            each.sendall(b"a")
        except OSError:
            pass
"""
    before = threading.active_count()
    slow, _ = begin(program, server.server_port)
    try:
        assert_it_serves(server)
        time.sleep(2)
        assert threading.active_count() - before <= 2
    finally:
        end(slow)


def test_questions_without_bounds(server):
    """Another user sends a line, a header and numbers of headers that fill the memory."""
    program = """
for head in (b"G" * (1 << 24), b"GET / HTTP/1.1\\r\\na: " + b"b" * (1 << 24),
             b"GET / HTTP/1.1\\r\\n" + b"a: b\\r\\n" * (1 << 20),
             b"\\0" * 4096 + b"\\r\\n\\r\\n", b"GET / HTTP/9.9\\r\\n\\r\\n", b"GET\\r\\n\\r\\n"):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10) as peer:
        try:
            peer.sendall(head)
            peer.recv(1000)
        except OSError:
            pass
"""
    attack(program, server.server_port)
    assert_it_serves(server)


def test_a_report_that_never_ends(server, folder):
    """The owner of the folder makes report.html a pipe: whoever asked for it held all others up."""
    attack("os.mkfifo(sys.argv[1])", folder / "report.html")
    assert ask(server, "report.html")[0] == 404
    assert_it_serves(server)


@pytest.mark.parametrize("target", ["secret", "/dev/zero", "/proc/self/environ"])
def test_a_report_that_is_another_file(server, folder, tmp_path, target):
    """The owner of the folder makes report.html a link to what root alone may read, or to what never ends."""
    (tmp_path / "secret").write_text("root's own")
    (tmp_path / "secret").chmod(0o600)
    attack("os.symlink(sys.argv[1], sys.argv[2])", tmp_path / target, folder / "report.html")
    assert ask(server, "report.html")[0] == 404
    assert_it_serves(server)


@pytest.mark.parametrize("name", [".live.json", "stride4/ecmp/2/run.json"])
@pytest.mark.parametrize(
    "how",
    [
        "os.mkfifo(path)",
        "os.symlink('/dev/zero', path)",
        "os.truncate(os.open(path, 66), 1 << 40)",
        "Path(path).write_bytes(b'[' * (1 << 20))",
        "Path(path).mkdir()",
    ],
)
def test_files_of_a_sweep_that_never_end(server, folder, name, how):
    """The owner of the folder puts pipes, devices, endless files and JSON without a bottom among its results."""
    program = (
        "path = sys.argv[1]; Path(path).parent.mkdir(parents=True, exist_ok=True); Path(path).unlink(True); " + how
    )
    attack(program, folder / name)
    assert_it_serves(server)


@pytest.mark.parametrize("k", [-2, 2, 3, 5, 255, 1e9, "4", 254])
def test_a_network_that_cannot_be(server, folder, k):
    """The owner of the folder says that a network under way has an odd, a negative or a giant k."""
    live = json.loads((folder / ".live.json").read_text())
    live["runs"][0]["k"] = k
    attack("Path(sys.argv[1]).write_text(sys.argv[2])", folder / ".live.json", json.dumps(live))
    assert_it_serves(server)


def test_words_for_the_browser_and_the_terminal(server, folder, capfd):
    """The owner of the folder writes markup, script and escape sequences into all names of a run under way."""
    words = "</script><img src=x onerror=alert(1)>"
    live = json.loads((folder / ".live.json").read_text())
    live["runs"][0] |= {"pattern": words, "scheme": words, "stage": words, "worker": words}
    attack("Path(sys.argv[1]).write_text(sys.argv[2])", folder / ".live.json", json.dumps(live))
    assert b"<img src=x" not in ask(server, "")[1]
    live["runs"][0]["stage"] = "\x1b]0;mine\x07"
    attack("Path(sys.argv[1]).write_text(sys.argv[2])", folder / ".live.json", json.dumps(live))
    assert b"\x1b" not in ask(server, "")[1]
    assert "\x1b" not in "".join(capfd.readouterr())


def test_a_folder_that_goes_away(server, folder, capfd):
    """The owner of the folder removes it while others watch."""
    attack("os.rename(sys.argv[1], sys.argv[1] + '-away')", folder)
    status, said = ask(server, "")
    assert status == 500
    assert b"there is no results folder" in said
    assert capfd.readouterr() == ("", "")


def test_a_folder_that_becomes_another(server, folder, tmp_path):
    """The owner of the folder puts a link in its place, to a sweep that root alone may read."""
    (tmp_path / "private").mkdir(mode=0o700)
    finish(tmp_path / "private", "hedera-gff")
    program = "os.rename(sys.argv[1], sys.argv[1] + '-away'); os.symlink(sys.argv[2], sys.argv[1])"
    assert b"hedera-gff" not in ask(server, "finished.html")[1]
    attack(program, folder, tmp_path / "private")
    assert b"hedera-gff" not in ask(server, "")[1]
