import pytest

from virtual.apt import merge


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
    assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} == {
        "opt/x",
        "usr/sbin/ip",
        found,
    }
