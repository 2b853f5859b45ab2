import pytest

from harness.network import netlink


def test_the_kernel_is_asked_for_its_families():
    assert netlink.has_family("nlctrl"), "the family that lists families, on every kernel"
    assert not netlink.has_family("no_such_family")


def test_an_answer_that_is_none_is_an_error():
    with pytest.raises(OSError, match="Invalid argument"):
        netlink.has_family("a" * 60)  # longer than the kernel's names
