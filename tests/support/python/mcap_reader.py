# SPDX-License-Identifier: Apache-2.0
"""Reads MCAP files of ROS 2 messages by the specifications alone, with the standard library.

`read` checks what a file says of itself (https://mcap.dev/spec): magic, checksums, chunk and message
indexes, statistics. Messages are decoded by the definitions that the file itself has (ros2msg), out of
CDR, and must end where their bytes end.
"""

import re
import struct
import zlib

MAGIC = b"\x89MCAP0\r\n"
NUMBERS = {"bool": "?", "byte": "B", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I",
           "int32": "i", "uint64": "Q", "int64": "q", "float32": "f", "float64": "d"}


class _Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, code):
        values = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return values if len(values) > 1 else values[0]

    def block(self, code="I"):
        size = self.take(code)
        part = self.data[self.at:self.at + size]
        assert len(part) == size, "a block reaches over the end"
        self.at += size
        return part

    def text(self):
        return self.block().decode()

    def left(self):
        return len(self.data) - self.at


def _records(data):
    """(kind, content, offset) of each record."""
    reader = _Bytes(data)
    while reader.left():
        at = reader.at
        kind = reader.take("B")
        yield kind, reader.block("Q"), at


def _types(name, text):
    """The fields of each type of a definition: (type, array suffix, name)."""
    parts = re.split(r"^=+\nMSG: (.*)\n", text, flags=re.MULTILINE)
    bodies = {name.replace("/msg/", "/"): parts[0], **dict(zip(parts[1::2], parts[2::2]))}
    return {name: [re.fullmatch(r"([\w/]+)(\[\d*\])? (\w+)", line).groups() for line in body.splitlines()]
            for name, body in bodies.items()}


class _Cdr:
    """One message out of little-endian CDR."""

    def __init__(self, types, data):
        assert data[:4] == b"\0\1\0\0", data[:4]
        self.types, self.data, self.at = types, data[4:], 0

    def numbers(self, code, count):
        size = struct.calcsize("<" + code)
        if count:
            self.at += -self.at % size
        values = struct.unpack_from(f"<{count}{code}", self.data, self.at)
        self.at += size * count
        return values

    def values(self, kind, count):
        if kind in NUMBERS:
            return self.numbers(NUMBERS[kind], count)
        return [self.text() if kind == "string" else self.fields(kind) for _ in range(count)]

    def text(self):
        size, = self.numbers("I", 1)
        data = self.data[self.at:self.at + size]
        self.at += size
        assert len(data) == size and data.endswith(b"\0"), data
        return data[:-1].decode()

    def fields(self, kind):
        value = {}
        for of, array, name in self.types[kind]:
            if array is None:
                value[name], = self.values(of, 1)
            else:
                value[name] = self.values(of, int(array[1:-1]) if array != "[]" else self.numbers("I", 1)[0])
        return value


def read(path):
    """(topic, type, time in ns, message as dictionaries) of each message, in the order of the file."""
    with open(path, "rb") as file:
        data = file.read()
    assert data.startswith(MAGIC) and data.endswith(MAGIC), "no MCAP file, or not closed"
    footer = data[-len(MAGIC) - 29:-len(MAGIC)]
    kind, size, summary_at, _, summary_crc = struct.unpack("<BQQQI", footer)
    assert (kind, size) == (2, 20), "no footer"
    assert zlib.crc32(data[summary_at:-len(MAGIC) - 4]) == summary_crc, "checksum of the summary"

    schemas, channels, indexes, statistics = {}, {}, [], None
    for kind, content, _ in _records(data[summary_at:-len(MAGIC) - 29]):
        reader = _Bytes(content)
        if kind == 3:
            number, name, encoding = reader.take("H"), reader.text(), reader.text()
            assert encoding == "ros2msg", encoding
            schemas[number] = (name, _types(name, reader.text()))
        elif kind == 4:
            number, schema, topic, encoding = reader.take("H"), reader.take("H"), reader.text(), reader.text()
            assert encoding == "cdr", encoding
            channels[number] = (topic, *schemas[schema])
        elif kind == 8:
            first, last, at, bytes_, offsets = *reader.take("QQQQ"), reader.block()
            indexes.append((first, last, at, bytes_, dict(struct.iter_unpack("<HQ", offsets))))
        elif kind == 11:
            count, _, _, _, _, chunks, first, last = reader.take("QHIIIIQQ")
            statistics = count, chunks, first, last, dict(struct.iter_unpack("<HQ", reader.block()))

    start = len(MAGIC)
    first_kind, header, _ = next(_records(data[start:summary_at]))
    assert first_kind == 1 and _Bytes(header).text() == "ros2", header
    messages, counts = [], {number: 0 for number in channels}
    for first, last, at, bytes_, offsets in indexes:
        (kind, content, _), = _records(data[at:at + bytes_])
        chunk = _Bytes(content)
        assert kind == 6 and chunk.take("QQ") == (first, last)
        size, crc = chunk.take("Q"), chunk.take("I")
        assert chunk.text() == "", "a compression"
        records = chunk.block("Q")
        assert len(records) == size and zlib.crc32(records) == crc, "checksum of a chunk"
        found = {}
        for kind, content, record_at in _records(records):
            assert kind == 5, kind
            number, _, time_ns, _ = struct.unpack_from("<HIQQ", content)
            assert first <= time_ns <= last
            found.setdefault(number, []).append((time_ns, record_at))
            counts[number] += 1
            topic, name, types = channels[number]
            cdr = _Cdr(types, content[22:])
            messages.append((topic, name, time_ns, cdr.fields(name.replace("/msg/", "/"))))
            assert cdr.at == len(cdr.data), f"{len(cdr.data) - cdr.at} bytes after a message of {topic}"
        assert found.keys() == offsets.keys()
        for number, index_at in offsets.items():
            kind, content, _ = next(_records(data[index_at:]))
            index = _Bytes(content)
            assert (kind, index.take("H")) == (7, number)
            assert list(struct.iter_unpack("<QQ", index.block())) == found[number]
    times = [message[2] for message in messages] or [0]
    assert statistics == (len(messages), len(indexes), min(times), max(times), counts), statistics
    return messages
