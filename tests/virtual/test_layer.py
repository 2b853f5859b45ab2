from virtual import layer


def test_folders_that_the_system_has_as_links_move_to_where_those_lead(tmp_path):
    system, root = tmp_path / "system", tmp_path / "root"
    (system / "usr/sbin").mkdir(parents=True)
    (system / "sbin").symlink_to("usr/sbin")
    (system / "opt").mkdir()
    for file in ("sbin/tc", "usr/sbin/ip", "opt/x"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(file)
    layer.merge(root, system)
    found = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    assert found == ["opt/x", "usr/sbin/ip", "usr/sbin/tc"]


def test_folders_stay_where_the_system_has_folders(tmp_path):
    (tmp_path / "system/sbin").mkdir(parents=True)
    (tmp_path / "root/sbin").mkdir(parents=True)
    (tmp_path / "root/sbin/tc").touch()
    layer.merge(tmp_path / "root", tmp_path / "system")
    assert (tmp_path / "root/sbin/tc").exists()


def test_programs_of_a_layer_are_found_before_the_system_s(tmp_path):
    (tmp_path / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    (tmp_path / "usr/lib/x86_64-linux-gnu/libfl.so.2").touch()
    (tmp_path / "usr/bin").mkdir()
    (tmp_path / "usr/bin/m4").touch()
    made = layer.on_path(tmp_path, {"PATH": "/bin", "HOME": "/h"})
    assert made == {
        "PATH": f"{tmp_path}/usr/bin:{tmp_path}/usr/sbin:/bin",
        "HOME": "/h",
        "LD_LIBRARY_PATH": f"{tmp_path}/usr/lib/x86_64-linux-gnu",
        "M4": f"{tmp_path}/usr/bin/m4",
    }
