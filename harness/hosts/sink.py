"""Takes in the lasting flows of all hosts, and reports them as iperf's server does (`traffic.programs`).

    python -I -S sink.py SOCKET... > report

The sockets are open files, by their numbers: each listens in a host's namespace. A program for each host would take a
guest 40 ms of a processor to start.

In a guest a system call costs more than a packet, and iperf's server makes one for every packet, since no time passes
before it is awake. This one lets the kernel fill a block, and throw it away (MSG_WAITALL, and MSG_TRUNC as tcp(7) has
it), for READ_S at most; what came in a block is shared out over the seconds that it took.
"""

from __future__ import annotations

import os
import selectors
import socket
import struct
import sys
import threading
import time

# The kernel fills a block and throws it away, so its size costs no memory: 1 MiB is what a link of 1 Gb/s brings in 8
# ms. Where links are slower, the time ends a block. It was 50 ms once; 200 save a guest 240 of 1,920 calls of its
# kernel in each second of traffic (k = 4, 10 Mb/s), and seconds still share out to a fifth.
BLOCK = 1 << 20
READ_S = 0.2


def take_in_flow(connection: socket.socket, source: tuple[str, int]) -> None:
    """Take in one flow; write a line for each of its seconds, and one for the whole when it has ended.

    A line is stamped with the end of the second after its own, as iperf 2.1.8 does.
    """
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, round(READ_S * 1e6)))
    buffer = bytearray(BLOCK)
    began = last = time.time()
    address, port = connection.getsockname()
    ends = f"{source[0]},{source[1]},{address},{port},{connection.fileno()}"

    def write_line(start: float, end: float, amount: float) -> None:
        stamped_at = began + end + 1
        stamp = f"{time.strftime('%Y%m%d%H%M%S', time.gmtime(stamped_at))}.{int(stamped_at % 1 * 1000):03}"
        rate = round(amount * 8 / (end - start))
        os.write(1, f"{stamp},{ends},{start:.1f}-{end:.4f},{round(amount)},{rate}\n".encode())

    total, second, so_far = 0, 0, 0.0
    size: int | None = None
    while size != 0:
        try:
            size = connection.recv_into(buffer, BLOCK, socket.MSG_WAITALL | socket.MSG_TRUNC)
        except BlockingIOError:
            size = None
        except OSError:
            break
        now = time.time()
        total += size or 0
        came = float(size or 0)
        while now >= began + second + 1:
            until = began + second + 1
            part = came * (until - last) / (now - last)
            write_line(second, second + 1, so_far + part)
            came, last, second, so_far = came - part, until, second + 1, 0.0
        so_far += came
        last = now
    connection.close()
    write_line(0, max(last - began, 1e-4), total)


def main(*numbers: str) -> None:
    listeners = selectors.DefaultSelector()
    for number in numbers:
        listeners.register(socket.socket(fileno=int(number)), selectors.EVENT_READ)
    while True:
        for ready, _ in listeners.select():
            listener = ready.fileobj
            assert isinstance(listener, socket.socket)
            threading.Thread(target=take_in_flow, args=listener.accept(), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
