#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""voxloc.serve, and the native part's stub: python_package_test.py PACKAGE_DIR PROGRAMS_DIR."""

import ast
import os
import pathlib
import re
import signal
import sys
import tempfile
import unittest
from unittest import mock

PROGRAMS = pathlib.Path(sys.argv.pop()).resolve()
PACKAGE = pathlib.Path(sys.argv.pop()).resolve()
sys.path.insert(0, str(PACKAGE))
try:
    import grpc  # noqa: F401
    import numpy as np
    import voxloc
    from voxloc import _native
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

VOXLOCD = PROGRAMS / "voxlocd"
POINTS = np.random.default_rng(1).uniform(-20.0, 20.0, (5000, 3)).astype(np.float32)


def script(folder, text):
    """A program that runs the lines of a shell."""
    path = pathlib.Path(folder, "program")
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


class Serve(unittest.TestCase):
    def test_serves_and_leaves_nothing(self):
        before = set(os.listdir(tempfile.gettempdir()))
        with voxloc.serve(program=VOXLOCD) as server:
            self.assertRegex(server.address, r"^127\.0\.0\.1:[1-9]\d*$")
            self.assertNotEqual(server.address, server.metrics_address)
            with server.client() as client:
                client.load_map("town", {"tile": POINTS})
                self.assertEqual([info.name for info in client.list_maps()], ["town"])
            self.assertIn("event=", server.log())
            self.assertIn(server.address, repr(server))
            with voxloc.serve(program=VOXLOCD) as other, other.client() as client:
                self.assertNotEqual(other.address, server.address)
                self.assertEqual(list(client.list_maps()), [])
        left = set(os.listdir(tempfile.gettempdir())) - before
        self.assertEqual([name for name in left if name.startswith("voxloc_")], [])
        with server.client() as client, self.assertRaises(voxloc.Error):
            client.list_maps(timeout_s=1.0)

    def test_maps_stay_in_a_given_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder, "data")
            with voxloc.serve(program=VOXLOCD, data_dir=data) as server, server.client() as client:
                client.load_map("town", {"tile": POINTS})
            with voxloc.serve(program=VOXLOCD, data_dir=data) as server, server.client() as client:
                self.assertEqual([info.name for info in client.list_maps()], ["town"])

    def test_finds_the_program_in_the_path(self):
        with mock.patch.dict(os.environ, PATH=f"{PROGRAMS}:{os.environ['PATH']}"), voxloc.serve():
            pass
        with mock.patch.dict(os.environ, PATH="/nowhere"), \
                self.assertRaisesRegex(FileNotFoundError, "neither in this package nor in PATH"), voxloc.serve():
            pass

    def test_errors_have_the_end_of_the_log(self):
        with self.assertRaisesRegex(RuntimeError, r"(?s)ended with exit code 2;.*--nonsense"), \
                voxloc.serve("--nonsense=1", program=VOXLOCD):
            self.fail("it started")
        with tempfile.TemporaryDirectory() as folder:
            for text, words in (("echo first; exit 3", r"exit code 3; its log ends with:\nfirst"),
                                ("echo waits; exec sleep 100", r"not ready within 0.1 s;.*\nwaits")):
                with self.subTest(text), self.assertRaisesRegex(RuntimeError, words), \
                        voxloc.serve(program=script(folder, text), timeout_s=0.1 if "sleep" in text else 60):
                    self.fail("it started")

    def test_a_server_that_is_lost_is_an_error_unless_there_is_another(self):
        with tempfile.TemporaryDirectory() as folder:
            # The process is the server, and another program may end it.
            program = script(folder, f'echo $$ >"{folder}/pid"\nexec "{VOXLOCD}" "$@"')

            def kill():
                pid = int(pathlib.Path(folder, "pid").read_text(encoding="utf-8"))
                os.kill(pid, signal.SIGKILL)
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

            with self.assertRaisesRegex(RuntimeError, r"ended by itself with exit code -9; its log ends with:\n.*event="), \
                    voxloc.serve(program=program):
                kill()
            with self.assertRaisesRegex(KeyError, "of the body"), voxloc.serve(program=program):
                kill()
                raise KeyError("of the body")


class Stub(unittest.TestCase):
    def test_has_the_names_and_arguments_of_the_module(self):
        stub = ast.parse((PACKAGE / "voxloc/_native.pyi").read_text(encoding="utf-8"))

        def declared(body):
            """Names, and the arguments of functions; None for a property."""
            return {node.name: None if any(getattr(mark, "id", "") == "property" for mark in node.decorator_list)
                    else len(node.args.args) for node in body if isinstance(node, ast.FunctionDef)}

        def defined(scope, names):
            """The same of the module: pybind11 writes each argument into the first line."""
            return {name: None if isinstance(vars(scope)[name], property)
                    else len(re.findall(r"\w+: ", getattr(scope, name).__doc__.split("\n")[0])) for name in names}

        classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
        public = {name for name in vars(_native) if not name.startswith("_")}
        self.assertEqual(declared(stub.body), defined(_native, public - set(classes)))
        for name, node in classes.items():
            scope = getattr(_native, name)
            names = {each for each in vars(scope) if not each.startswith("_")}
            if name != "Alignment":  # nobody makes one
                names.add("__init__")
            self.assertEqual(declared(node.body), defined(scope, names), name)


if __name__ == "__main__":
    unittest.main()
