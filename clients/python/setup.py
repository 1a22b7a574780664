# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say: the stub of voxloc.messages is made when the package is built."""

import pathlib
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithStub(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:
            subprocess.run([sys.executable, pathlib.Path(__file__).resolve().parent / "message-stub",
                            pathlib.Path(self.build_lib, "voxloc/messages.pyi")], check=True)


setup(cmdclass={"build_py": BuildWithStub})
