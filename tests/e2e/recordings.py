# SPDX-License-Identifier: BSD-3-Clause
"""Recordings byte by byte (docs/recording.md), without the messages that protoc generates: where
each message ends, and what its fields hold."""

EVENTS_BEFORE, FIRST, EVENT, CARRIED = 10, 1, 3, 5  # field numbers: recording.proto


def read_varint(data, at):
    """(value, where it ends)"""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def messages(data):
    """(begin, end) of the content of each message; each must be whole."""
    at = 0
    while at < len(data):
        length, begin = read_varint(data, at)
        at = begin + length
        assert at <= len(data), "half a message is left"
        yield begin, at


def fields(message):
    """(number, value or bytes) of a protobuf message."""
    at = 0
    while at < len(message):
        tag, at = read_varint(message, at)
        if tag & 7 == 0:
            value, at = read_varint(message, at)
        else:
            length, at = read_varint(message, at) if tag & 7 == 2 else (4 if tag & 7 == 5 else 8, at)
            value, at = message[at : at + length], at + length
        yield tag >> 3, value


def without_checks(data):
    """As an older program wrote it: the same messages without their last field."""
    old = b""
    for begin, end in messages(data):
        length, prefix = end - begin - 5, b""
        while length > 0x7F:
            prefix, length = prefix + bytes([length & 0x7F | 0x80]), length >> 7
        old += prefix + bytes([length]) + data[begin : end - 5]
    return old
