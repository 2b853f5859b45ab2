import pytest

from tests.commands import ran
from virtual.apt import find_missing, merge


@pytest.mark.parametrize(("linked", "found"), [(True, "usr/sbin/tc"), (False, "sbin/tc")])
def test_folders_that_the_system_has_as_links_move_to_where_those_lead(tmp_path, linked, found):
    system, root = tmp_path / "system", tmp_path / "root"
    (system / "usr/sbin").mkdir(parents=True)
    if linked:
        (system / "sbin").symlink_to("usr/sbin")
    else:
        (system / "sbin").mkdir()
    for file in ("sbin/tc", "usr/sbin/ip", "opt/x"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(file)
    merge(root, system)
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert files == {"opt/x", "usr/sbin/ip", found}


@pytest.mark.slow
def test_a_package_is_fetched_where_its_files_are_gone_though_apt_has_it_installed():
    asked = ["dpkg-query", "-W", "-f", "${Version}", "util-linux"]
    installed = ran(*asked, check=True).stdout
    if f" {installed} " not in ran("apt-cache", "madison", "util-linux").stdout:
        pytest.skip("this machine's lists of packages do not have what is installed")
    assert find_missing(["util-linux"]) == [f"util-linux={installed}"]
