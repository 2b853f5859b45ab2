"""Protocol buffers and Chakra's traces, encoded."""


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def key(number, kind):
    return varint(number << 3 | kind)


def whole(number, value):
    return key(number, 0) + varint(value)


def content(number, data):
    return key(number, 2) + varint(len(data)) + data


def delimited(*some):
    return b"".join(varint(len(one)) + one for one in some)


METADATA = content(1, b"0.0.4")
COMP, SEND, RECV, COLL = 4, 5, 6, 7
ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER, BARRIER = 0, 2, 5, 6, 7, 9


def attribute(name, value):
    """An attribute as ASTRA-sim's own traces have it: numbers in int64_val, texts in string_val."""
    said = content(29, value.encode()) if isinstance(value, str) else whole(9, value)
    return content(10, content(1, name.encode()) + said)


def node(number, kind, *, data=(), ctrl=(), micros=0, **attributes):
    return b"".join(
        [
            whole(1, number),
            content(2, b"a name"),
            whole(3, kind),
            content(4, b"".join(map(varint, ctrl))),
            *(whole(5, one) for one in data),
            whole(7, micros),
            *(attribute(name, value) for name, value in attributes.items()),
        ]
    )


def trace(*nodes):
    return delimited(METADATA, *nodes)


def send(number, to, size=10, tag=0, **more):
    return node(number, SEND, comm_dst=to, comm_size=size, comm_tag=tag, **more)


def recv(number, sender, size=10, tag=0, **more):
    return node(number, RECV, comm_src=sender, comm_size=size, comm_tag=tag, **more)


def together(number, what, size=1000, **more):
    return node(number, COLL, comm_type=what, comm_size=size, **more)
