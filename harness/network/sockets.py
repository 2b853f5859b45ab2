"""Room in ovs-vswitchd's packet sockets, so that packets are dropped in the links' queues and nowhere else.

In userspace, ovs-vswitchd sends through one AF_PACKET socket for all its ports, and every packet waiting in
any port's queue counts against that socket's send buffer: 208 KiB by default, some 90 full packets. With many
links congested at once the buffer is full long before the queues are; the packets lost there are invisible
to the queues, and TCP behaves as if they were a fraction of their size. Packets waiting to be read
are lost the same way when the process is not scheduled for a moment.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from harness.errors import RunFailed

ROOM_PER_MTU_BYTE = 44 << 10
"""Bytes for each socket and byte of a packet, 64 MiB at 1500: more than all the queues of k = 8 together hold."""

_SYS_PIDFD_GETFD = 438  # the same number on every architecture; Linux 5.6
_SO_SNDBUFFORCE = 32
_SO_RCVBUFFORCE = 33
_SOL_PACKET = 263
_PACKET_STATISTICS = 6


def widen_packet_sockets(pid: int, mtu: int) -> int:
    """Give every AF_PACKET socket of a process room for full queues each way; returns how many there are.

    Raises RunFailed when the kernel does not let us (it takes root, and Linux 5.6).
    """
    widened, room = 0, ROOM_PER_MTU_BYTE * mtu
    for ours in _packet_sockets(pid):
        ours.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, room)
        ours.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, room)
        widened += 1
    return widened


def lost_packets(pid: int) -> int:
    """Packets that the AF_PACKET sockets of a process had no room for, since this was last asked.

    Raises RunFailed as `widen_packet_sockets` does.
    """
    lost = 0
    for ours in _packet_sockets(pid):
        _, drops = struct.unpack("II", ours.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        lost += drops
    return lost


def _packet_sockets(pid: int) -> Iterator[socket.socket]:
    """A descriptor of our own for each AF_PACKET socket of a process, closed as the next one is asked for."""
    try:
        process = os.pidfd_open(pid)
        try:
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.ExitStack() as stack:
                    try:
                        if not os.readlink(entry).startswith("socket:"):
                            continue
                        ours = stack.enter_context(_copy(process, int(entry.name)))
                    except OSError as error:
                        if error.errno in (errno.ENOENT, errno.EBADF):
                            continue  # closed since it was listed
                        raise
                    if ours.family == socket.AF_PACKET:
                        yield ours
        finally:
            os.close(process)
    except OSError as error:
        raise RunFailed(f"the packet sockets of process {pid} cannot be reached: {error.strerror}") from None


def _copy(process: int, descriptor: int) -> socket.socket:
    """A descriptor of our own for a socket of another process."""
    libc = ctypes.CDLL(None, use_errno=True)
    copy = libc.syscall(_SYS_PIDFD_GETFD, process, descriptor, 0)
    if copy < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return socket.socket(fileno=copy)
