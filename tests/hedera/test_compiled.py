"""Machine code is loaded when it is of these sources and nobody else's to write, and is compiled anew otherwise."""

import hashlib
import importlib
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from hedera import compiled as module
from hedera.compiled import Kept, NotUnderstood, compiled

ROOT = Path(__file__).parents[2]
WORD = "compiling the inner loops, once"
USER = 65534
CALL = "from paper.collisions import _draw; print([_draw(4, 1, n, 3) for n in range(9)])"


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The packages in a folder of their own, and what a first process printed, said, and kept."""
    place = tmp_path_factory.mktemp("first")
    for package in ("files", "topos", "traffic", "hedera", "paper"):
        shutil.copytree(ROOT / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
    return place, *run(place, place)


@pytest.fixture
def copy(first, tmp_path):
    return shutil.copytree(first[0], tmp_path / "copy", ignore=shutil.ignore_patterns("compiled"))


@pytest.fixture
def cache(first, tmp_path):
    """A folder below which the machine code of the first process lies."""
    shutil.copytree(first[0] / "compiled", tmp_path / "cache" / "compiled")
    return tmp_path / "cache"


@pytest.fixture
def right(first):
    return first[1]


def start(copy, cache, prefix=(), statements=CALL, **settings):
    return subprocess.Popen(
        [*prefix, sys.executable, "-B", "-c", statements],
        cwd=copy,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **settings,
    )


def run(*arguments, **named):
    """What a process that calls compiled code prints, and says."""
    process = start(*arguments, **named)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    return printed, said


def change(file, old, new):
    text = file.read_text()
    assert text.count(old) >= 1
    file.write_text(text.replace(old, new))


def test_machine_code_does_not_outlive_its_source(first, copy, cache, tmp_path):
    """The function that is called lies in another file than the one that changes."""
    _, right, said = first
    assert said == f"{WORD}: half a minute or less\n", "once, and in one line"
    assert run(copy, cache) == (right, "")
    change(copy / "hedera/draws.py", "np.uint64(bound)", "np.uint64(bound - 1)")
    wrong, said = run(copy, cache)
    assert wrong != right
    assert WORD in said
    assert run(copy, cache) == (wrong, "")
    change(copy / "hedera/draws.py", "np.uint64(bound - 1)", "np.uint64(bound)")
    assert run(copy, cache) == (right, ""), "what was compiled for it is still there"
    change(copy / "hedera/draws.py", "0x9E3779B97F4A7C15", "0x9E3779B97F4A7C17")
    assert run(copy, cache)[0] != right, "a constant of another file"
    change(copy / "hedera/draws.py", "0x9E3779B97F4A7C17", "0x9E3779B97F4A7C15  # the golden ratio\n")
    shutil.move(copy, elsewhere := tmp_path / "elsewhere")
    assert run(elsewhere, cache) == (right, ""), "neither a comment nor the place changes anything"


def test_what_is_kept_is_loaded_without_what_compiling_takes(copy, cache, right):
    """SciPy's linear algebra, in which Numba looks for a BLAS, takes half as long as all the rest."""
    look = "import sys; print('scipy.linalg' in sys.modules, 'numba.cpython.listobj' in sys.modules)"
    assert run(copy, cache, statements=f"{CALL}; {look}") == (f"{right}False False\n", "")


def test_two_processes_at_once_are_both_right(copy, right, tmp_path):
    both = [start(copy, tmp_path) for _ in range(2)]
    assert [process.communicate(timeout=120)[0] for process in both] == [right, right]
    assert run(copy, tmp_path) == (right, "")


def test_a_full_disk_costs_the_compiling_alone(copy, right, tmp_path):
    printed, said = run(copy, tmp_path, prefix=("prlimit", "--fsize=4096"))  # writing fails, as it does without space
    assert printed == right
    assert WORD in said
    assert list((tmp_path / "compiled").iterdir()) == []


def test_what_was_cut_short_is_compiled_again(copy, cache, right):
    for file in (cache / "compiled").iterdir():
        file.write_bytes(file.read_bytes()[:-100])
    again, said = run(copy, cache)
    assert again == right
    assert WORD in said
    assert run(copy, cache) == (right, "")


@pytest.mark.root
def test_root_loads_nothing_that_another_user_can_write(copy, cache, right, tmp_path):
    """Whoever owns a file of machine code runs as who loads it: it is a pickle besides."""
    taken = tmp_path / "taken"
    evil = f"cos\nsystem\n(S'touch {taken}'\ntR.".encode()
    for file, theirs in zip(sorted((cache / "compiled").iterdir()), (0o666, None, None), strict=True):
        file.write_bytes(hashlib.sha256(evil).digest() + evil)
        file.chmod(theirs) if theirs else os.chown(file, USER, USER)
    assert run(copy, cache)[0] == right
    assert not taken.exists()
    os.chown(cache / "compiled", USER, USER)
    printed, said = run(copy, cache)
    assert printed == right
    assert "and at every start: " in said


@pytest.mark.root
def test_a_folder_of_root_s_that_may_only_be_read_is_read(copy, cache, right):
    for folder in (cache / "compiled", copy, *copy.parents, cache):
        folder.chmod(folder.stat().st_mode | 0o005)
    as_nobody = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
    assert run(copy, cache, prefix=as_nobody) == (right, "")
    os.chown(cache / "compiled", 1000, 1000)
    printed, said = run(copy, cache, prefix=as_nobody)
    assert printed == right
    assert "at every start" in said


@pytest.mark.root
def test_a_process_that_is_a_user_for_a_while_loads_nothing(copy, cache, right):
    """It can become root again; and what the user has written would be root then."""
    for path in (cache, *cache.rglob("*")):
        os.chown(path, USER, USER)
    for folder in (*cache.parents, copy):
        folder.chmod(folder.stat().st_mode | 0o005)
    printed, said = run(copy, cache, statements=f"import os; os.seteuid({USER}); {CALL}")
    assert printed == right
    assert "can become another user" in said


def test_without_a_place_for_it_code_is_compiled_at_every_start(copy, right, tmp_path):
    (tmp_path / "file").touch()
    printed, said = run(copy, tmp_path / "file")
    assert printed == right
    assert "and at every start: cannot create a folder for compiled programs" in said


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path / "compiled"


def made(source, **known):
    space = {"__name__": "made", "np": np, **known}
    exec(source, space)
    space["f"] = compiled(space["f"])
    return space["f"]


def test_all_compiled_functions_of_the_project_are_understood():
    found = [p for name in ("hedera", "simulator", "paper") for p in (ROOT / name).rglob("*.py")]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in found]
    modules = [importlib.import_module(name) for name, path in zip(names, found, strict=True) if uses(path)]
    functions = {f for m in modules for f in vars(m).values() if isinstance(f, Dispatcher)}
    assert len(functions) > 40
    for function in functions:
        assert isinstance(function._cache, Kept), "nothing is compiled in another way"
        assert len(function._cache.digest()) == 64


def uses(path):
    return "numba" in (text := path.read_text()) or "compiled" in text


def test_what_is_not_understood_is_compiled_but_not_kept(here, capfd, monkeypatch):
    monkeypatch.setattr(module, "_said", False)
    function = made("def f(x): return g(x)", g=np.sin)
    assert function(0.0) == 0.0
    assert "at every start: <ufunc 'sin'> in a compiled function is not understood" in capfd.readouterr().err
    assert not list(here.iterdir())
    with pytest.raises(NotUnderstood):
        function._cache.digest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("def f(x): return x + 1", {}), ("def f(x): return x + 2", {})),
        (("def f(x): return x + 1", {}), ("def f(x): return x + 1.0", {})),
        (("def f(x): return x + 1", {}), ("def f(x): return x + True", {})),
        (("def f(x): return x + C", {"C": 1}), ("def f(x): return x + C", {"C": 2})),
        (("def f(x): return x + C", {"C": 1}), ("def f(x): return x + C", {"C": np.int32(1)})),
        (("def f(x): return x + C", {"C": 0.0}), ("def f(x): return x + C", {"C": -0.0})),
        (("def f(x): return x + C[0]", {"C": (1, 2)}), ("def f(x): return x + C[0]", {"C": (2, 1)})),
        (
            ("def f(x): return x + C", {"C": np.arange(3)}),
            ("def f(x): return x + C", {"C": np.arange(3) + 1}),
        ),
        (("def f(x): return x + C", {"C": np.zeros(4)}), ("def f(x): return x + C", {"C": np.zeros((2, 2))})),
        (("def f(x, y=1): return x + y", {}), ("def f(x, y=2): return x + y", {})),
        (("def f(x): return x.min()", {}), ("def f(x): return x.max()", {})),
        (("def f(x): return np.sum(x)", {}), ("def f(x): return np.sum(x)", {"np": np.random})),
        (("def f(x): return g(x)", {"g": math.sin}), ("def f(x): return g(x)", {"g": math.cos})),
        (("def f(x): return [i + 1 for i in x]", {}), ("def f(x): return [i + 2 for i in x]", {})),
    ],
)
def test_another_reading_has_another_digest(one, other):
    (a, with_a), (b, with_b) = one, other
    assert made(a, **with_a)._cache.digest() == made(a, **with_a)._cache.digest()
    assert made(a, **with_a)._cache.digest() != made(b, **with_b)._cache.digest()


def test_a_callee_s_callee_counts(here):
    def outer(body):
        g = made(f"def f(x): return {body}")
        h = made("def f(x): return g(x) + 1", g=g)
        return made("def f(x): return h(x) + 1", h=h)

    assert outer("x")._cache.digest() == outer("x")._cache.digest()
    assert outer("x")._cache.digest() != outer("-x")._cache.digest()
    assert (outer("x")(1), outer("-x")(1)) == (3, 1)


def test_a_function_may_call_itself():
    source = "def f(n): return 1 if n < 2 else n * f(n - 1)"
    assert made(source)._cache.digest() == made(source)._cache.digest()
