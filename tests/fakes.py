"""Programs of the machine that do something else, for one command: root hears no PATH."""

import os
import shutil
import stat


def machine_with(folder, **programs):
    """What to put before a command that shall meet such programs, by name (``_`` for ``-``): shell scripts. Each tells
    its version as ever; ``$real`` is the real one. They are laid over the real ones in a mount namespace."""
    lines = ["set -e"]
    for name, script in programs.items():
        name = name.replace("_", "-")
        there = os.path.realpath(shutil.which(name))
        real, fake = folder / f"real-{name}", folder / name
        shutil.copy2(there, real)
        fake.write_text(f'#!/bin/sh\nreal={real}\ncase "$*" in -v|-V|--version) exec $real "$@";; esac\n{script}\n')
        fake.chmod(stat.S_IMODE(os.stat(there).st_mode))
        lines.append(f"mount --bind {fake} {there}")
    return ["unshare", "--mount", "sh", "-c", "\n".join([*lines, 'exec "$@"']), "sh"]
