import os
import re
import sys

import pytest

from controllers import pox_main
from controllers.settings import UNTOLD, from_ripl_pox, parse_settings
from hedera.schemes import SCHEMES
from record.spec import RunSpec
from tests.commands import PROJECT, ran
from tests.controllers.fake_network import FakeNetwork


@pytest.mark.parametrize("name", [name for name, scheme in SCHEMES.items() if not scheme.plans])
def test_every_scheme_is_a_controller_and_is_logged_by_its_own_name(name):
    net = FakeNetwork(scheme=name, k=4, connect=False)
    net.controller.started("fake", "1", "here:1")
    (start,) = net.log.of("start")
    named = {"scheme": name, "platform": "fake", "listen": "here:1"}
    assert start.items() >= {**named, "k": 4, "seed": 1, "bw_mbps": 10.0, "threshold": 0.1}.items()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"k": "four"}, "-k must be at least 4"),
        ({"interval": "0.01"}, "interval"),
        ({"new_flows": "nobody"}, "--new-flows must be one of"),
        ({"speed": "9"}, "speed is not a setting"),
    ],
)
def test_bad_values_get_one_sentence(given, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        parse_settings(given)


def test_text_becomes_numbers():
    given = {"scheme": "hedera-sa", "k": "8", "seed": "7", "interval": "5", "bw": "2.5"}
    assert parse_settings(given) == RunSpec(
        **UNTOLD | {"scheme": "hedera-sa"}, k=8, seed=7, interval_s=5.0, link_mbps=2.5
    )


# --- RipL-POX's arguments


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"topo": "ft,4", "routing": "hashed", "mode": "reactive"}, {"k": "4", "scheme": "ecmp"}),
        ({"topo": "ft,8", "routing": "random", "mode": "hybrid"}, {"k": "8", "scheme": "random"}),
        ({"topo": "ft,4", "routing": "st", "mode": "proactive"}, {"k": "4", "scheme": "spanning-tree"}),
        ({"topo": "ft,6"}, {"k": "6", "scheme": "spanning-tree"}),
        ({"topo": "ft,6", "scheme": "hedera-sa"}, {"k": "6", "scheme": "hedera-sa"}),
    ],
)
def test_ripl_pox_arguments(given, meant):
    settings, note = from_ripl_pox(given)
    assert settings == meant
    assert meant["scheme"] in note
    parse_settings(settings)


@pytest.mark.parametrize(
    "given",
    [
        {"topo": "tree,4"},
        {"routing": "ecmp"},
        {"mode": "lazy"},
        {"routing": "hashed", "mode": "proactive"},
        {"routing": "st", "scheme": "ecmp"},
        {"topo": "ft,4", "k": "6"},
    ],
)
def test_ripl_pox_arguments_that_make_no_sense(given):
    with pytest.raises(ValueError, match=r"\w"):
        from_ripl_pox(given)


def test_pox_is_started_with_our_components_below_its_own_package(tmp_path):
    checkout = tmp_path / "checkout"
    (checkout / "pox").mkdir(parents=True)
    (checkout / "pox" / "__init__.py").touch()
    (checkout / "pox" / "boot.py").write_text(
        "import sys\n"
        "def boot(argv):\n"
        "    __import__('pox.controllers.settings')  # the only name that 0.7 tries\n"
        "    print(sys.path[0], *argv)\n"
    )
    command = (sys.executable, "-m", "controllers.pox_main", "checkout", "openflow.of_01", "--port=1")
    done = ran(*command, env={**os.environ, "PYTHONPATH": str(PROJECT)}, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"{checkout} openflow.of_01 --port=1\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["/nowhere", "openflow.of_01"]])
def test_what_is_no_pox_checkout_is_said(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        pox_main.main(arguments)
    assert capsys.readouterr().err.startswith("controllers.pox_main: first name a POX checkout")
