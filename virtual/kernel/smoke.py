"""The test that runs inside a new kernel: two hosts, a link of 10 Mb/s, a full packet and TCP over it for some seconds.

    python -I smoke.py FOLDER SECONDS     writes FOLDER/measured: Mb/s of payload that arrived, ms of the packet

The other half, `test`, boots that guest and checks the output. Only the standard library is imported, because the
guest does not have our environment.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

LINK_MBPS = 10.0
SECONDS = 5.0
CARRIES = (0.93, 0.97)
"""The allowed ratio of goodput to rate: 1448 of 1514 bytes are payload, 95.6 %; the initial burst adds to it, the
handshake subtracts."""
FRAME_MS = 1514 * 8e-3 / LINK_MBPS
"""What a full packet takes over an idle link; the answer and readings of the clock add less than half a percent."""
_PORT = 5001
_SET_UP = """
ip netns add a && ip netns add b
ip link add v type veth peer name w
ip link set v netns a && ip link set w netns b
ip -n a addr add 10.0.0.1/24 dev v && ip -n b addr add 10.0.0.2/24 dev w
ip -n a link set v up && ip -n b link set w up
tc -n a qdisc add dev v root handle 1: tbf rate 10mbit burst 3028 limit 75000
"""


def _receive() -> None:
    """Answer two packets, and receive on one connection; print the rate between its first and its last byte, Mb/s."""
    with socket.create_server(("10.0.0.2", _PORT)) as server, socket.socket(type=socket.SOCK_DGRAM) as answering:
        answering.bind(("10.0.0.2", _PORT))
        print("ready", flush=True)
        for _ in range(2):
            answering.sendto(b"", answering.recvfrom(2000)[1])
        connection, _ = server.accept()
        connection.recv(1 << 16)
        begin, count = time.monotonic(), 0
        while part := connection.recv(1 << 16):
            count += len(part)
        print(count * 8 / (time.monotonic() - begin) / 1e6)


def _send(seconds: float) -> None:
    """Print how long the second of two full packets takes over the idle link, in ms; the first has to ask for its
    receiver. Then send as fast as it goes."""
    with socket.socket(type=socket.SOCK_DGRAM) as asking:
        asking.connect(("10.0.0.2", _PORT))
        for _ in range(2):
            begin = time.monotonic()
            asking.send(bytes(1472))
            asking.recv(1)
            took_ms = 1e3 * (time.monotonic() - begin)
    print(took_ms)
    with socket.create_connection(("10.0.0.2", _PORT)) as connection:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            connection.sendall(bytes(1 << 14))


def _main(folder: str, seconds: str) -> None:
    subprocess.run(["sh", "-ec", _SET_UP], check=True)
    me = [sys.executable, "-I", __file__]
    with subprocess.Popen(["ip", "netns", "exec", "b", *me, "receive"], stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        receiver.stdout.readline()
        send = ["ip", "netns", "exec", "a", *me, "send", seconds]
        frame = subprocess.run(send, check=True, stdout=subprocess.PIPE, text=True).stdout
        Path(folder, "measured").write_text(receiver.stdout.read() + frame, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        _receive()
    elif sys.argv[1] == "send":
        _send(float(sys.argv[2]))
    else:
        _main(*sys.argv[1:])
