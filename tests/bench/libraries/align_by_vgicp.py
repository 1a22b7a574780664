# SPDX-License-Identifier: Apache-2.0
import sys

import numpy as np
import small_gicp

map_file, guesses_file, *scan_files = sys.argv[1:]
target, _ = small_gicp.preprocess_points(np.load(map_file), num_threads=2)
voxels = small_gicp.GaussianVoxelMap(1.0)
voxels.insert(target)
for guess, scan_file in zip(np.load(guesses_file), scan_files):
    source, _ = small_gicp.preprocess_points(np.load(scan_file), num_threads=2)
    print(small_gicp.align(voxels, source, guess, num_threads=2).T_target_source.tolist())
