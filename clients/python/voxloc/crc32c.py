# SPDX-License-Identifier: Apache-2.0
"""CRC-32C (Castagnoli), the checksum of a tile's points: google_crc32c's where it is installed."""

from __future__ import annotations

import functools

import numpy as np

_POLYNOMIAL = np.uint32(0x82F63B78)  # bits reflected
_ALL = 0xFFFFFFFF


def _byte_table() -> np.ndarray:
    """What each value of a byte makes of an empty register."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ _POLYNOMIAL, table >> 1).astype(np.uint32)
    return table


_TABLE = _byte_table()


@functools.lru_cache(maxsize=64)  # of tables of 4 KB
def _zeros_tables(count: int) -> np.ndarray:
    """What `count` zero bytes make of a register, for each value of each of its four bytes."""
    # Columns of the linear map: the register that each single bit leads to, by repeated squaring.
    step = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
    step = _TABLE[step & 0xFF] ^ (step >> 8)
    result = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
    while count:
        if count & 1:
            result = _apply(step, result)
        step = _apply(step, step)
        count >>= 1
    values = np.arange(256, dtype=np.uint32)
    return np.stack([_apply(result, values << np.uint32(8 * i)) for i in range(4)])


def _apply(columns: np.ndarray, registers: np.ndarray) -> np.ndarray:
    """The linear map of `columns`, one for each bit, of every register."""
    out = np.zeros_like(registers)
    for bit in range(32):
        out ^= np.where((registers >> np.uint32(bit)) & 1, columns[bit], np.uint32(0))
    return out


def _advance(tables: np.ndarray, registers: np.ndarray) -> np.ndarray:
    """The same by _zeros_tables."""
    return (tables[0][registers & 0xFF] ^ tables[1][(registers >> 8) & 0xFF] ^
            tables[2][(registers >> 16) & 0xFF] ^ tables[3][registers >> 24])


def _numpy_crc32c(data: bytes) -> int:
    # The data as rows of equal length, zeros in front: those of a zero register leave it at zero.
    # All rows are taken at once, byte after byte, and their registers then joined in pairs.
    size = len(data)
    if size == 0:
        return 0
    rows = 1 << max(0, (size - 1).bit_length() // 2)
    length = -(-size // rows)
    padded = np.zeros(rows * length, dtype=np.uint8)
    content = np.frombuffer(data, dtype=np.uint8)
    padded[rows * length - size:] = content
    columns = np.ascontiguousarray(padded.reshape(rows, length).T)
    registers = np.zeros(rows, dtype=np.uint32)
    for column in columns:
        registers = _TABLE[(registers ^ column) & 0xFF] ^ (registers >> 8)
    while len(registers) > 1:
        registers = _advance(_zeros_tables(length), registers[0::2]) ^ registers[1::2]
        length *= 2
    # The register starts with all bits set, which is the same as those bits moved over the data.
    start = _advance(_zeros_tables(size), np.array([_ALL], dtype=np.uint32))
    return int(registers[0] ^ start[0]) ^ _ALL


def crc32c(data: bytes) -> int:
    """The CRC-32C of `data`, 0 for none."""
    return _crc32c(data)


try:
    from google_crc32c import value as _crc32c
except ImportError:
    _crc32c = _numpy_crc32c
