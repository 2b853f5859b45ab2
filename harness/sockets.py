"""Room in ovs-vswitchd's packet sockets, so that packets are dropped in the links' queues and nowhere else.

In userspace, ovs-vswitchd sends through one AF_PACKET socket for all its ports, and every packet waiting in
any port's queue counts against that socket's send buffer: 208 KiB by default, some 90 full packets. With many
links congested at once the buffer is full long before the queues are; the packets lost there are invisible
to the queues, and TCP behaves as if they were a fraction of their size. Packets waiting to be read
are lost the same way when the process is not scheduled for a moment.
"""

from __future__ import annotations

import ctypes
import os
import socket
from pathlib import Path

from harness.errors import RunFailed

ROOM = 64 << 20
"""Bytes for each socket: more than all the queues of k = 8 together hold."""

_SYS_PIDFD_GETFD = 438  # the same number on every architecture; Linux 5.6
_SO_SNDBUFFORCE = 32
_SO_RCVBUFFORCE = 33


def widen_packet_sockets(pid: int, room: int = ROOM) -> int:
    """Give every AF_PACKET socket of a process ``room`` bytes each way; returns how many there are.

    Raises RunFailed when the kernel does not let us (it takes root, and Linux 5.6).
    """
    widened = 0
    process = os.pidfd_open(pid)
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if not os.readlink(entry).startswith("socket:"):
                continue
            with _copy(process, int(entry.name)) as ours:
                if ours.family == socket.AF_PACKET:
                    ours.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, room)
                    ours.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, room)
                    widened += 1
    except OSError as error:
        raise RunFailed(f"the packet sockets of process {pid} cannot be widened: {error.strerror}") from None
    finally:
        os.close(process)
    return widened


def _copy(process: int, descriptor: int) -> socket.socket:
    """A descriptor of our own for a socket of another process."""
    libc = ctypes.CDLL(None, use_errno=True)
    copy = libc.syscall(_SYS_PIDFD_GETFD, process, descriptor, 0)
    if copy < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return socket.socket(fileno=copy)
