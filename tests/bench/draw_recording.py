#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a recording of results from above: draw_recording.py DRIVE.mcap PICTURE.png [--width PIXELS].

What `voxloc replay --output DRIVE.mcap` wrote is read by the formats' specifications alone, with the
standard library: the cells of the map in their colours, the lower ones first, the aligned points of the
scan in the middle of the drive (white), and the accepted poses (red).
"""

import argparse
import pathlib
import struct
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support" / "python"))
import mcap_reader  # noqa: E402

MARGIN_M = 5.0
BACKGROUND = (16, 18, 24)
SAMPLES = 2  # of a pixel along each axis


class Picture:
    """Pixels, x to the right and y upwards in metres; the largest coordinates are those of `points`."""

    def __init__(self, points, width):
        self.left = min(x for x, _ in points) - MARGIN_M
        self.top = max(y for _, y in points) + MARGIN_M
        right = max(x for x, _ in points) + MARGIN_M
        bottom = min(y for _, y in points) - MARGIN_M
        self.pixels_a_m = SAMPLES * width / (right - self.left)
        self.width = SAMPLES * width
        self.height = SAMPLES * max(1, round(width * (self.top - bottom) / (right - self.left)))
        self.rows = [bytearray(bytes(BACKGROUND) * self.width) for _ in range(self.height)]

    def fill(self, corners, color):
        """A convex polygon."""
        at = [((x - self.left) * self.pixels_a_m, (self.top - y) * self.pixels_a_m) for x, y in corners]
        first = max(0, int(min(y for _, y in at)))
        last = min(self.height - 1, int(max(y for _, y in at)))
        for row in range(first, last + 1):
            crossings = []
            for (x0, y0), (x1, y1) in zip(at, at[1:] + at[:1]):
                if (y0 <= row + 0.5) != (y1 <= row + 0.5):
                    crossings.append(x0 + (row + 0.5 - y0) / (y1 - y0) * (x1 - x0))
            if crossings:
                begin = max(0, round(min(crossings)))
                end = min(self.width, max(round(max(crossings)), begin + 1))
                self.rows[row][3 * begin:3 * end] = bytes(color) * max(0, end - begin)

    def dot(self, x, y, size_m, color):
        half = size_m / 2
        self.fill([(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)],
                  color)

    def line(self, points, width_m, color):
        for (x0, y0), (x1, y1) in zip(points, points[1:]):
            length = ((x1 - x0)**2 + (y1 - y0)**2)**0.5
            if length > 0.0:
                dx, dy = (x1 - x0) / length * width_m / 2, (y1 - y0) / length * width_m / 2
                self.fill([(x0 - dy, y0 + dx), (x0 + dy, y0 - dx), (x1 + dy, y1 - dx), (x1 - dy, y1 + dx)],
                          color)

    def write(self, path):
        lines = b""
        for row in range(0, self.height, SAMPLES):
            parts = [self.rows[row + i][3 * k + c::3 * SAMPLES] for i in range(SAMPLES)
                     for k in range(SAMPLES) for c in range(3)]
            line = bytearray(3 * self.width // SAMPLES)
            for c in range(3):
                line[c::3] = bytes(sum(values) // SAMPLES**2 for values in zip(*parts[c::3]))
            lines += b"\0" + line

        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        head = struct.pack(">IIBBBBB", self.width // SAMPLES, self.height // SAMPLES, 8, 2, 0, 0, 0)
        pathlib.Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
                                       chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording")
    parser.add_argument("picture")
    parser.add_argument("--width", type=int, default=900, help="of the picture, pixels")
    options = parser.parse_args()
    topics = {}
    for topic, _, _, message in mcap_reader.read(options.recording):
        topics.setdefault(topic, []).append(message)
    if "/voxloc/map_cells" not in topics or "/voxloc/pose_with_covariance" not in topics:
        sys.exit(f"{options.recording} must have the topics /voxloc/map_cells and "
                 f"/voxloc/pose_with_covariance (got {', '.join(topics)})")
    marker = topics["/voxloc/map_cells"][0]["markers"][0]
    corners, colors = marker["points"], marker["colors"]
    # Two triangles a cell: its square has the first three corners and the last.
    cells = [([corners[i + k] for k in (0, 1, 2, 5)], colors[i]) for i in range(0, len(corners), 6)]
    cells.sort(key=lambda cell: sum(corner["z"] for corner in cell[0]))
    picture = Picture([(corner["x"], corner["y"]) for corner in corners], options.width)
    for square, color in cells:
        picture.fill([(corner["x"], corner["y"]) for corner in square],
                     [round(255 * (0.15 + 0.6 * color[part])) for part in "rgb"])
    clouds = topics.get("/voxloc/points_aligned", [])
    if clouds:
        cloud = clouds[len(clouds) // 2]
        for at in range(0, len(cloud["data"]), cloud["point_step"]):
            x, y = struct.unpack_from("<2f", bytes(cloud["data"][at:at + 8]))
            picture.dot(x, y, 0.4, (255, 255, 255))
    positions = [message["pose"]["pose"]["position"] for message in topics["/voxloc/pose_with_covariance"]]
    picture.line([(at["x"], at["y"]) for at in positions], 1.2, (255, 40, 40))
    picture.write(options.picture)


if __name__ == "__main__":
    main()
