"""The system calls that the kernel refuses to isolated processes: a seccomp filter, made by libseccomp.

A process without capabilities gets all of them in a new user namespace, and could then mount anything. Keyrings
belong to users, not namespaces, so submissions could pass data through them. If root grades, no option of bubblewrap
prevents either. The list is that of Flatpak's filter for the same purpose, with parts of the kernel that mostly
attackers use. Calls unknown to libseccomp belong to newer kernels, and are refused as well.
"""

from __future__ import annotations

import errno
import socket
import tempfile

_NAMESPACES = 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00020000
"""CLONE_NEW*: cgroup, uts, ipc, user, pid, net, mount. (Only clone3 and unshare have the one for time.)"""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # typing into a terminal as if one were its user
_PR_SET_PDEATHSIG = 1
_REFUSED = (
    # namespaces and mounts
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", "statmount", "listmount", "name_to_handle_at",
    "open_by_handle_at", "fanotify_init",
    # things that belong to the user or the machine, not to a namespace
    "add_key", "keyctl", "request_key", "io_setup", "inotify_init", "inotify_init1", "syslog", "quotactl",
    "quotactl_fd", "personality",
    # memory that a process's limits do not count, and its place in the machine
    "memfd_create", "memfd_secret", "shmget", "msgget", "semget", "ipc", "mq_open", "mbind", "set_mempolicy",
    "set_mempolicy_home_node", "get_mempolicy", "move_pages", "migrate_pages",
    # other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    # where vulnerabilities of kernels were found
    "bpf", "perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd", "modify_ldt",
    "uselib", "lookup_dcookie",
)  # fmt: skip
_MAX = 1024  # numbers of system calls; Linux 7 has some 470


def program() -> bytes:
    """The filter, as the kernel takes it. Raises ImportError where there is no libseccomp for this Python."""
    import seccomp  # type: ignore[import-not-found, unused-ignore]

    rules, machine = seccomp.SyscallFilter(seccomp.ALLOW), seccomp.Arch()
    refuse, unknown = seccomp.ERRNO(errno.EPERM), seccomp.ERRNO(errno.ENOSYS)
    for number in range(_MAX):
        try:
            name = seccomp.resolve_syscall(machine, number).decode()
        except ValueError:
            rules.add_rule(unknown, number)
            continue
        if name in _REFUSED:
            rules.add_rule(refuse, number)
    # clone3's arguments are in memory, where no filter can read them; the C library then uses clone instead.
    rules.add_rule(unknown, "clone3")
    for flag in _NAMESPACES:
        rules.add_rule(refuse, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
    for typing in (_TIOCSTI, _TIOCLINUX):
        rules.add_rule(refuse, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, typing))
    # Processes end with their parent, and must not be able to change that.
    rules.add_rule(refuse, "prctl", seccomp.Arg(0, seccomp.MASKED_EQ, 0xFFFFFFFF, _PR_SET_PDEATHSIG))
    # Some kinds of socket ignore network namespaces: those between a virtual machine and its host.
    rules.add_rule(seccomp.ERRNO(errno.EAFNOSUPPORT), "socket", seccomp.Arg(0, seccomp.NE, socket.AF_UNIX))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
