# SPDX-License-Identifier: Apache-2.0
"""The Gaussians that scans are matched with."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a map, one entry a cell in every array, map frame.

    map_revision  that they are of
    cell_size_m   edge of a cell; it spans [index, index + 1) times that
    index         (N, 3) int32
    points        (N,) uint32, number of points
    mean          (N, 3) float64 of the points, metres
    covariance    (N, 3, 3) float64 as it is matched with, m^2
    """

    map_revision: int
    cell_size_m: float
    index: np.ndarray
    points: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"<Cells {len(self)} of {self.cell_size_m} m, revision {self.map_revision}>"


class CellsAssembly:
    """Puts the messages of GetCells together."""

    def __init__(self) -> None:
        self._facts: Any = None
        self._parts: Dict[str, List[np.ndarray]] = {
            name: [] for name in ("index", "points", "mean", "covariance")}

    def add(self, part: Any) -> None:
        """The next message."""
        self._facts = part
        for name, of_name in self._parts.items():
            of_name.append(np.array(getattr(part, name), dtype=np.float64))

    def finish(self) -> Cells:
        """All of them, at the end of the stream."""
        flat = {name: np.concatenate(parts) if parts else np.empty(0)
                for name, parts in self._parts.items()}
        # xx, xy, xz, yy, yz, zz.
        upper = flat["covariance"].reshape(-1, 6)
        return Cells(self._facts.map_revision if self._facts is not None else 0,
                     self._facts.cell_size_m if self._facts is not None else 0.0,
                     flat["index"].astype(np.int32).reshape(-1, 3), flat["points"].astype(np.uint32),
                     flat["mean"].reshape(-1, 3), upper[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3))
