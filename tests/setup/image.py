"""Makes what a Dockerfile describes, without an engine: its lines in a minimal Debian, one after the other.

Only what ours says is understood; anything else is an error.
"""

import json
import re
import subprocess
from pathlib import Path

ENTER = Path(__file__).with_name("enter_root.sh")
AS_ENGINES_DO = """
mount -t tmpfs -o nosuid,nodev,noexec,size=64m shm /dev/shm
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
exec "$@"
"""
"""What engines of containers put before a command: little shared memory, of which no code runs, and settings of the
kernel that cannot be written."""


def lines(dockerfile):
    """Its instructions: each with its words as one string."""
    text = re.sub(r"^\s*#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


class Image:
    """The image of ``source``, a clone, as a folder that is the file system of its containers."""

    def __init__(self, root, source):
        self.root, self.source = root, source
        self.user, self.folder, self.command = "0", "/", []
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.arguments = {}
        for instruction, words in lines(source / "Dockerfile"):
            getattr(self, f"_{instruction.lower()}")(words)

    def _from(self, words):
        suite = re.fullmatch(r"debian:(\w+)-slim", words)[1]
        made = ["mmdebstrap", "--variant=minbase", suite, self.root, "http://deb.debian.org/debian"]
        subprocess.run(made, check=True, capture_output=True)

    def _arg(self, words):
        name, _, value = words.partition("=")
        self.arguments[name] = value

    def _env(self, words):
        name, _, value = words.partition("=")
        self.environment[name] = value

    def _user(self, words):
        self.user = words

    def _workdir(self, words):
        self.folder = words

    def _cmd(self, words):
        self.command = json.loads(words)

    def _copy(self, words):
        *options, what, to = words.split()
        place = self.root / to.lstrip("/")
        if what == ".":
            subprocess.run(["git", "clone", "-q", "--no-hardlinks", self.source, place], check=True)
        else:
            place.write_bytes((self.source / what).read_bytes())
        for option in options:
            owner = option.removeprefix("--chown=")
            assert owner != option, f"{option} is not understood"
            self.run("chown", "--recursive", owner, to, user="0", check=True)

    def _run(self, words):
        done = self.run("sh", "-c", words, **self.arguments)
        assert done.returncode == 0, f"RUN {words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"

    def run(self, *command, user=None, check=False, before=(), alone=(), **variables):
        """A command in it, as its user, who needs no rights of root's."""
        user = user or self.user
        home = "/root" if user == "0" else "/home/student"
        told = self.environment | variables | {"HOME": home}
        become = [] if user == "0" else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        start = ["env", "-i", "-C", self.folder, *(f"{name}={value}" for name, value in told.items())]
        return subprocess.run(
            [ENTER, self.root, *before, *become, *alone, *start, *map(str, command)],
            capture_output=True, text=True, cwd="/", check=check,
        )  # fmt: skip

    def container(self, *command):
        """A command as in a container without any privilege: in a network and processes of its own, and in a user
        namespace, with no capability left, nor to be had again."""
        bare = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
        alone = ["unshare", "--user", "--map-current-user", "--keep-caps", *bare]
        before = ["unshare", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return self.run(*(command or self.command), before=[*before, "sh", "-euc", AS_ENGINES_DO, "sh"], alone=alone)
