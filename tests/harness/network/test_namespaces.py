import os
import subprocess

import pytest

from harness.network import namespaces
from harness.network.processes import Children, run, wait_until

pytestmark = pytest.mark.root


def net(pid):
    return os.readlink(f"/proc/{pid}/ns/net")


@pytest.fixture
def pid():
    """Of a thread in a network namespace of its own."""
    pid = namespaces.hold()
    yield pid
    if pid in namespaces._held:
        namespaces.release(pid)


def test_it_is_a_namespace_of_its_own_and_ours_is_not_left(pid):
    ours = net("self")
    assert net(pid) != ours
    assert namespaces.inside(pid, lambda: net("thread-self")) == net(pid)
    assert net("thread-self") == ours
    with pytest.raises(ZeroDivisionError):
        namespaces.inside(pid, lambda: 1 // 0)


def test_what_is_started_there_is_born_there_without_a_program_that_enters_it(pid):
    assert run(["readlink", "/proc/self/ns/net"], namespace=pid).strip() == net(pid)
    with Children() as children:
        child = children.spawn("sleeper", ["sleep", "60"], namespace=pid)
        assert net(child.pid) == net(pid)
    assert child.returncode is not None


def test_others_find_it_by_its_number_as_they_would_a_process(pid):
    """As `ip link ... netns PID` and `mnexec -a PID` do."""
    run(["ip", "link", "add", "a-eth1", "netns", str(pid), "type", "veth", "peer", "name", "a-eth2"], namespace=pid)
    found = subprocess.run(["mnexec", "-a", str(pid), "ip", "link"], capture_output=True, text=True, check=True).stdout
    assert "a-eth1" in found
    assert "a-eth2" in found


def test_it_goes_with_its_thread(pid):
    namespaces.release(pid)
    assert wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 30), "the thread takes a moment"
