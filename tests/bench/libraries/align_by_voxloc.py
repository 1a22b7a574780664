# SPDX-License-Identifier: Apache-2.0
import sys

import numpy as np
import voxloc

map_file, guesses_file, *scan_files = sys.argv[1:]
localizer = voxloc.Localizer(voxloc.Map.from_points(np.load(map_file)), threads=2)
for guess, scan_file in zip(np.load(guesses_file), scan_files):
    print(localizer.align(np.load(scan_file), guess).map_T_base.matrix().tolist())
