# SPDX-License-Identifier: Apache-2.0
"""Files: clouds, poses, and the folders that `voxloc simulate` writes.

read_cloud, write_pcd and voxel_downsample need the native part of the package.
"""

from __future__ import annotations

import os
import pathlib
import re
from decimal import Decimal
from typing import Dict, Iterable, Iterator, List, Tuple, Union

import numpy as np

from voxloc.pose import Pose

Path = Union[str, "os.PathLike[str]"]


def list_clouds(folder: Path) -> List[pathlib.Path]:
    """The PCD files in a folder (not below it) in the numeric order of their names, 2.pcd before
    10.pcd: that in which `voxloc` pairs scans with poses. ValueError: there are none, or two have
    the same number, so that the order is not certain."""
    files = _in_numeric_order(pathlib.Path(folder).glob("*.pcd"), folder)
    for before, after in zip(files, files[1:]):
        if _numeric_key(before) == _numeric_key(after):
            raise ValueError(f"{folder}: names must have different numbers"
                             f" (got {before.name} and {after.name})")
    return files


def _numeric_key(file: pathlib.Path) -> List[Tuple[int, int, bytes]]:
    # Digits compare as numbers, and before any other byte only by what they are.
    parts = re.findall(rb"[0-9]+|[^0-9]", os.fsencode(file.stem))
    return [(ord("0"), int(part), b"") if part.isdigit() else (part[0], 0, part) for part in parts]


def _in_numeric_order(files: Iterable[pathlib.Path], folder: Path) -> List[pathlib.Path]:
    found = [file for file in files if file.is_file()]
    if not found:
        raise ValueError(f"{folder}: there is no PCD file in this folder")
    return sorted(found, key=lambda file: (file.parent, _numeric_key(file), file.name))


def read_pcd(path: Path) -> np.ndarray:
    """The points (N, 3) of a PCD file with DATA binary or ascii, in the precision of its x, y, z:
    float32 or float64; float64 where its VIEWPOINT is not the identity, which then moves them.
    ValueError: another file."""
    content = pathlib.Path(path).read_bytes()
    header: Dict[str, List[str]] = {}
    position = 0
    while "DATA" not in header:
        end = content.find(b"\n", position)
        if end < 0:
            raise ValueError(f"{path}: no PCD file: its header has no DATA")
        words = content[position:end].decode("ascii", "replace").split()
        position = end + 1
        if words and not words[0].startswith("#"):
            header[words[0]] = words[1:]
    try:
        names, points = header["FIELDS"], int(header["POINTS"][0])
        counts = [int(count) for count in header.get("COUNT", ["1"] * len(names))]
        formats = [f"<{kind.lower()}{size}" for kind, size in zip(header["TYPE"], header["SIZE"])]
        columns = [names.index(axis) for axis in "xyz"]
        record = np.dtype([(f"f{i}", format, (count,)) for i, (format, count)
                           in enumerate(zip(formats, counts))])
        precision = np.float64 if any(formats[i] == "<f8" for i in columns) else np.float32
        encoding = header["DATA"][0]
        if encoding == "binary":
            table = np.frombuffer(content, dtype=record, count=points, offset=position)
            axes = [table[f"f{i}"][:, 0] for i in columns]
        elif encoding == "ascii":
            numbers = np.array(content[position:].split(), dtype=np.float64)
            starts = np.cumsum([0, *counts])
            axes = list(numbers.reshape(points, starts[-1])[:, starts[columns]].T)
        else:
            raise ValueError(f"DATA {encoding} is not read")
        viewpoint = [float(word) for word in header.get("VIEWPOINT", ["0"] * 7)]
        if len(viewpoint) != 7:
            raise ValueError(f"VIEWPOINT must have 7 numbers (got {len(viewpoint)})")
        x, y, z, qw, qx, qy, qz = viewpoint
        pose = Pose((x, y, z), (qx, qy, qz, qw)) if any(viewpoint) else Pose()
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise ValueError(f"{path}: no PCD file that can be read: {error}") from None
    points = np.stack(axes, axis=1).astype(precision)
    if pose.position.any() or pose.orientation[:3].any():
        return pose.apply(points)
    return points


def read_map(folder: Path) -> Iterator[Tuple[str, np.ndarray]]:
    """Tiles of a folder of PCD files, for Client.load_map: a file is a tile, and its name
    without the suffix the tile's, as `voxloc map load` has it."""
    for file in _in_numeric_order(pathlib.Path(folder).rglob("*.pcd"), folder):
        yield file.stem, read_pcd(file)


def read_poses(path: Path) -> List[Tuple[int, Pose]]:
    """(stamp_ns, map_T_base) of each line of a TUM file: stamp x y z qx qy qz qw."""
    poses = []
    for number, line in enumerate(pathlib.Path(path).read_text("utf-8").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 8:
            raise ValueError(f"{path}:{number}: 8 numbers are needed (got {len(words)})")
        values = [float(word) for word in words[1:]]
        poses.append((int(Decimal(words[0]) * 10**9), Pose(values[:3], values[3:])))
    return poses


def read_cloud(path: Path) -> np.ndarray:
    """The points (N, 3) of a file .pcd (ascii, binary, binary_compressed), .ply, .bin (KITTI,
    nuScenes), .las, .npy, .xyz, .csv or .txt: float32, or float64 where they lie more than 2048 m
    from zero. A PCD's VIEWPOINT moves them; points of LAS that are flagged as withheld are left out."""
    from voxloc import _native
    return _native.read_cloud(os.fspath(path))


def write_pcd(path: Path, points: np.ndarray) -> None:
    """Writes points (N, 3) of float32 or float64 as a binary PCD, which appears whole or not at
    all."""
    from voxloc import _native
    _native.write_pcd(os.fspath(path), np.asarray(points))


def voxel_downsample(points: np.ndarray, leaf_m: float) -> np.ndarray:
    """The centroid of the points (N, 3) of each voxel with this edge, metres."""
    from voxloc import _native
    return _native.voxel_downsample(np.asarray(points), leaf_m)
