"""Three users of one machine: root, alice, and an enemy of both with folders of his own. Each acts by own number."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.commands import HEDERA, PATIENCE_S, PROJECT, let_in, of_user, ran

ENEMY, ALICE = 54321, 54322
SECRET = "S3CRET-of-one-who-may-not-be-read"


@contextlib.contextmanager
def outside():
    """A folder that is not in pytest's own: any other pytest shuts that one to all users as it starts, and ends badly
    where a killed test has left there what is too deep for Python to remove."""
    folder = Path(tempfile.mkdtemp(prefix="hedera-hostile-"))
    try:
        yield folder
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


class Neighbourhood:
    """Folders below ``place``: ``theirs``, the enemy's; ``roots`` and ``alices``, which nobody else gets into; each
    of these two with a file ``precious`` that holds SECRET."""

    def __init__(self, place: Path) -> None:
        let_in(place)
        self.place = place
        self.theirs, self.roots, self.alices = (place / name for name in ("theirs", "roots", "alices"))
        for folder, uid in ((self.theirs, ENEMY), (self.roots, 0), (self.alices, ALICE)):
            folder.mkdir()
            os.chown(folder, uid, uid)
            folder.chmod(0o755 if uid == ENEMY else 0o700)
            if uid != ENEMY:
                (folder / "precious").write_text(SECRET)
                (folder / "precious").chmod(0o600)
                os.chown(folder / "precious", uid, uid)
        self.before = self.treasures()

    def treasures(self):
        """All that the enemy is after: by name, what it is and holds."""
        found = {}
        for folder in (self.roots, self.alices):
            for path in (folder, *sorted(folder.rglob("*"))):
                about = path.lstat()
                content = path.read_bytes() if path.is_file() else b""
                found[str(path)] = (about.st_uid, about.st_mode, about.st_nlink if path.is_file() else 0, content)
        return found

    def assert_unharmed(self):
        """Nothing of root's or alice's was changed, added or given away; nothing of root's lies with the enemy."""
        assert self.treasures() == self.before
        left = [path for path in self.theirs.rglob("*") if path.lstat().st_uid == 0]
        assert left == [], "what root leaves in another's folder"

    def owned(self):
        """All in the enemy's folder is the enemy's own."""
        for path in self.theirs.rglob("*"):
            os.chown(path, ENEMY, ENEMY, follow_symlinks=False)

    def call(self, victim, *arguments, cwd="/", seconds=240, **variables):
        """A command of a victim's: how it ended and what it said, which is never a traceback, nor SECRET. The victim:
        root in a root shell, root behind whom alice called sudo, or alice herself."""
        session = {"env": environment(victim, self) | variables, "cwd": cwd, "timeout": seconds}
        done = ran(*arguments, text=False, **session, **(of_user(ALICE) if victim == "user" else {}))
        done.stdout, done.stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        assert SECRET not in said, said
        assert not [c for c in said if not c.isprintable() and c != "\n"], "control characters"
        return done

    def hedera(self, victim, *arguments, **more):
        """`hedera` called by a victim."""
        return self.call(victim, HEDERA, *arguments, **more)

    def python(self, victim, program, **more):
        """A program with our packages, by a victim."""
        found = f"import sys; sys.path.insert(0, {str(PROJECT)!r})\nfrom pathlib import Path\n"
        return self.call(victim, sys.executable, "-I", "-B", "-c", found + program, **more)


def environment(victim, place):
    """The variables of a victim's session."""
    found = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root"}
    if victim == "sudo":
        found |= {"SUDO_UID": str(ALICE), "SUDO_GID": str(ALICE), "SUDO_USER": "alice"}
    return found | ({"HOME": str(place.alices)} if victim == "user" else {})


def enemy(program, *arguments, **more):
    """A process of the enemy's, that runs."""
    command = ["/usr/bin/python3", "-I", "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, cwd="/", **of_user(ENEMY), **more)


def does(program, *arguments):
    """What a program of the enemy's prints, when it has ended."""
    with enemy(program, *arguments, stdout=subprocess.PIPE, text=True) as process:
        return process.communicate(timeout=PATIENCE_S)[0]
