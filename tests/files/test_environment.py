"""What root goes on with of an environment that a user's session may have filled."""

import os
import pwd

import pytest

from files.environment import believed

HARMLESS = {
    "LANG": "C.UTF-8",
    "TERM": "xterm",
    "SUDO_UID": "1000",
    "COLUMNS": "80",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@pytest.mark.parametrize(
    "name",
    [
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "BASH_ENV",
        "GIT_DIR",
        "MPLBACKEND",
        "GIT_CONFIG_GLOBAL",
        "MATPLOTLIBRC",
        "DASK_CONFIG",
        "NUMBA_CPU_NAME",
        "XDG_DATA_HOME",
        "ENV",
        "HEDERA_RUN",
    ],
)
def test_what_loads_code_is_not_heard(name):
    assert believed({**HARMLESS, name: "/root"}) == HARMLESS


@pytest.mark.root
@pytest.mark.parametrize("name", ["NUMBA_CACHE_DIR", "MPLCONFIGDIR", "XDG_CACHE_HOME", "TMPDIR"])
@pytest.mark.parametrize("kind", ["root's", "another's", "shared", "below another's", "another's link", "relative"])
def test_a_place_is_believed_when_root_alone_can_change_it(reachable, name, kind):
    place = reachable / "place"
    place.mkdir()
    if kind == "another's":
        os.chown(place, 54321, 54321)
    elif kind == "shared":
        place.chmod(0o1777)
    elif kind == "below another's":
        os.chown(place, 54321, 54321)
        place /= "root's"
        place.mkdir()
    elif kind == "another's link":
        place = reachable / "link"
        place.symlink_to("/root")
        os.chown(place, 54321, 54321, follow_symlinks=False)
    environment = {name: "root" if kind == "relative" else str(place)}
    assert believed(environment) == (environment if kind == "root's" else {})


@pytest.mark.root
def test_home_is_root_s_and_programs_are_no_user_s(reachable):
    os.chown(reachable, 54321, 54321)
    path = f"/usr/bin:{reachable}:.::/bin"
    assert believed({"HOME": "/home/alice", "PATH": path}) == {
        "HOME": pwd.getpwuid(0).pw_dir,
        "PATH": "/usr/bin:/bin",
    }
