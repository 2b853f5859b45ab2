import pytest

from files.imports import closure, imported, module_file

SOURCES = {
    "a/__init__.py": "",
    "a/main.py": "import numpy\nfrom a import near\nfrom a.near import thing\n",
    "a/near.py": "def late():\n    from b.far import name\n    return 'c.program'\n",
    "a/alone.py": "",
    "b/__init__.py": "import b.also",
    "b/far.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a.main",
    "b/also.py": "'see a.alone', 'a.nothing', 'a', b'a.alone'",
    "c/program.py": "def broken(",
}


@pytest.fixture
def root(tmp_path):
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_closure_has_what_is_imported_late_and_what_is_started_by_name(root):
    found = closure(["a.main"], root)
    assert set(found) == {"a", "a.main", "a.near", "b", "b.far", "b.also", "c.program"}
    assert found["a"] == root / "a/__init__.py"
    assert closure(["nothing"], root) == {}


def test_names_that_are_imported():
    assert imported(b"import a.b, c as d\nfrom e import f") == {"a.b", "c", "e", "e.f"}
    assert imported(b"from . import x\n'import y'") == set()
    with pytest.raises(SyntaxError):
        imported(b"import")


def test_where_a_module_is(root):
    assert module_file("a.main", root) == root / "a/main.py"
    assert module_file("a", root) == root / "a/__init__.py"
    assert [module_file(name, root) for name in ("", "a.x", "numpy", "a.main.x")] == [None] * 4
