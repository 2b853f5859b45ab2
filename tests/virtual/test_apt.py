from virtual.apt import merge


def test_folders_that_the_system_has_as_links_move_to_where_those_lead(tmp_path):
    system, root = tmp_path / "system", tmp_path / "root"
    (system / "usr/sbin").mkdir(parents=True)
    (system / "sbin").symlink_to("usr/sbin")
    (system / "opt").mkdir()
    for file in ("sbin/tc", "usr/sbin/ip", "opt/x"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(file)
    merge(root, system)
    found = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    assert found == ["opt/x", "usr/sbin/ip", "usr/sbin/tc"]


def test_folders_stay_where_the_system_has_folders(tmp_path):
    (tmp_path / "system/sbin").mkdir(parents=True)
    (tmp_path / "root/sbin").mkdir(parents=True)
    (tmp_path / "root/sbin/tc").touch()
    merge(tmp_path / "root", tmp_path / "system")
    assert (tmp_path / "root/sbin/tc").exists()
