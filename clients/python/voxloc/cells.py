# SPDX-License-Identifier: Apache-2.0
"""The Gaussians that scans are matched with."""

from __future__ import annotations

import dataclasses

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
