# SPDX-License-Identifier: Apache-2.0
"""Makes clients/python importable for a test, or skips the test."""

import importlib.util
import pathlib
import sys

SKIPPED = 77  # SKIP_RETURN_CODE of voxloc_add_python_test


def make_importable(source):
    """Puts the package of the tree `source` first in the path; ends the program as skipped where
    its dependencies are not installed."""
    missing = [name for name in ("grpc", "google.protobuf", "numpy") if not _is_installed(name)]
    if missing:
        print(f"not installed: {', '.join(missing)} (Debian: python3-grpcio, python3-protobuf, "
              "python3-numpy); scripts/install-dependencies --ci")
        sys.exit(SKIPPED)
    sys.path.insert(0, str(pathlib.Path(source, "clients", "python")))


def _is_installed(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
