"""Protocol buffers on the wire: what is encoded is read back, and what is none is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traffic.encoded import content, delimited, key, varint, whole
from traffic.wire import Malformed, fields, messages

NUMBERS = st.integers(1, (1 << 29) - 1)
WHOLES = st.integers(0, (1 << 64) - 1)


@given(st.lists(st.tuples(NUMBERS, st.one_of(WHOLES, st.binary(max_size=300)))))
def test_what_is_encoded_is_read_back(some):
    data = b"".join(
        whole(number, value) if isinstance(value, int) else content(number, value) for number, value in some
    )
    found = [(one.number, one.one() if one.content is None else bytes(one.bytes())) for one in fields(memoryview(data))]
    assert found == some


@given(st.lists(st.binary(max_size=300)))
def test_messages_behind_each_other_are_read_back(some):
    assert [bytes(one) for one in messages(memoryview(delimited(*some)))] == some


@given(st.lists(WHOLES))
def test_a_repeated_number_is_read_packed_or_not(some):
    packed = content(4, b"".join(map(varint, some)))
    each = b"".join(whole(4, value) for value in some)
    for data in (packed, each):
        assert [one for field in fields(memoryview(data)) for one in field.wholes()] == some


def test_numbers_of_fixed_length_are_passed_over():
    data = key(1, 1) + bytes(8) + key(2, 5) + bytes(4) + whole(3, 7)
    assert [(one.number, one.whole, one.content) for one in fields(memoryview(data))] == [
        (1, None, None),
        (2, None, None),
        (3, 7, None),
    ]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x08", "ends within a number"),
        (b"\x08" + b"\x80" * 11, "more than 64 bits"),
        (b"\x12\x05abc", "ends within a part of 5 bytes"),
        (key(2, 2) + varint((1 << 64) - 1), "ends within a part of 18,446,744,073,709,551,615 bytes"),
        (b"\x09abc", "ends within a part of 8 bytes"),
        (b"\x0b", "field 1 is of a kind that there is not"),
        (b"\x00\x00", "no field has the number 0"),
    ],
)
def test_what_is_no_message_is_refused(data, says):
    with pytest.raises(Malformed, match=says):
        list(fields(memoryview(data)))


def test_a_number_is_no_content_and_content_no_number():
    one, other = fields(memoryview(whole(1, 2) + content(2, b"\x01")))
    with pytest.raises(Malformed, match="field 1 has no content"):
        one.bytes()
    with pytest.raises(Malformed, match="field 2 is no whole number"):
        other.one()
