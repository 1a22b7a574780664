#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stub of voxloc.messages against the contract, and by mypy: messages_stub_test.py SOURCE_DIR."""

import ast
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support" / "python"))
import python_client  # noqa: E402

if len(sys.argv) != 2:
    sys.exit("usage: messages_stub_test.py SOURCE_DIR")
SOURCE = pathlib.Path(sys.argv.pop())
python_client.make_importable(SOURCE)

from google.protobuf.descriptor import FieldDescriptor  # noqa: E402
from voxloc import messages  # noqa: E402

# What types-protobuf says of it, as far as the programs below go.
PROTOBUF = """
class Message:
    def SerializeToString(self) -> bytes: ...
    def CopyFrom(self, other: Message) -> None: ...
"""

RIGHT = """
import voxloc
from voxloc import messages

options = messages.AlignmentOptions(profile="precise")
options.overrides.max_iterations.value = 20
options.covariance.method = messages.COVARIANCE_METHOD_FIXED
sample = messages.PoseSample(stamp_ns=3, map_t_base=messages.PoseWithCovariance(pose={"position": {"x": 1.0}}))
options.CopyFrom(messages.AlignmentOptions())
data: bytes = sample.SerializeToString()

def score(result: messages.AlignmentResult) -> float:
    if result.status != messages.ALIGNMENT_STATUS_OK:
        return max(result.point_scores.best_score)
    return result.covariance_report.aligned_map_t_base[0].position.x

def open_client() -> voxloc.Client:
    return voxloc.Client("localhost:50051")
"""

# Each line with a part of what mypy says of it.
WRONG = """
from voxloc import messages
options = messages.AlignmentOptions(profil="precise")  # Unexpected keyword argument "profil"
options = messages.AlignmentOptions(profile=3)  # incompatible type "int"
options.profil  # has no attribute "profil"
options.profile = 3  # expression has type "int", variable has type "str"
options.overrides.max_iterations = 20  # is read-only
options.covariance.method = messages.ALIGNMENT_STATUS_OK  # expression has type "_AlignmentStatus"
messages.NONSENSE  # has no attribute "NONSENSE"
"""


def word(field):
    """The type of one element in the stub."""
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return ("" if field.message_type.file.package == "voxloc.v1" else "_") + field.message_type.name
    if field.type == FieldDescriptor.TYPE_ENUM:
        return "_" + field.enum_type.name
    return {FieldDescriptor.CPPTYPE_DOUBLE: "float", FieldDescriptor.CPPTYPE_FLOAT: "float",
            FieldDescriptor.CPPTYPE_BOOL: "bool",
            FieldDescriptor.CPPTYPE_STRING: "bytes" if field.type == FieldDescriptor.TYPE_BYTES else "str",
            }.get(field.cpp_type, "int")


def expected(field):
    """Of a message's field: whether it can be assigned, its type, and the type of its argument."""
    element = word(field)
    given = (f"Union[{element}, Mapping[str, Any]]" if field.type == FieldDescriptor.TYPE_MESSAGE
             else f"Union[{element}, str]" if field.type == FieldDescriptor.TYPE_ENUM else element)
    if field.label == FieldDescriptor.LABEL_REPEATED:
        kind = "_Messages" if field.type == FieldDescriptor.TYPE_MESSAGE else "_Values"
        return False, f"{kind}[{element}]", f"Optional[Iterable[{given}]]"
    return field.type != FieldDescriptor.TYPE_MESSAGE, element, f"Optional[{given}]"


def declared(node):
    """The same of a class in the stub, by the names of the fields."""
    members = {}
    arguments = {}
    for member in node.body:
        if isinstance(member, ast.AnnAssign):
            members[member.target.id] = (True, ast.unparse(member.annotation))
        elif member.name == "__init__":
            arguments = {each.arg: ast.unparse(each.annotation) for each in member.args.kwonlyargs}
        else:
            members[member.name] = (False, ast.unparse(member.returns))
    return {name: (*found, arguments.pop(name)) for name, found in members.items()}, arguments


class Stub(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="voxloc_stub_")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.source = cls.folder / "source"
        shutil.copytree(SOURCE / "clients/python", cls.source, ignore=shutil.ignore_patterns("__pycache__"))
        cls.stub = cls.folder / "site/voxloc/messages.pyi"
        shutil.copytree(cls.source / "voxloc", cls.stub.parent)
        subprocess.run([SOURCE / "clients/python/message-stub", cls.stub], check=True)

    def test_has_every_message_field_and_value(self):
        tree = ast.parse(self.stub.read_text(encoding="utf-8"))
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        values = {node.target.id: ast.unparse(node.annotation) for node in tree.body if isinstance(node, ast.AnnAssign)}
        public = {name for name in [*classes, *values] if not name.startswith("_")}
        self.assertEqual(public, set(dir(messages)))
        for name in public - set(values):
            with self.subTest(name):
                descriptor = getattr(messages, name).DESCRIPTOR
                found, other = declared(classes[name])
                self.assertEqual(found, {field.name: expected(field) for field in descriptor.fields})
                self.assertEqual(other, {})
                for field in descriptor.fields:
                    for value in field.enum_type.values if field.enum_type else ():
                        self.assertEqual(values[value.name], "_" + field.enum_type.name)

    def mypy(self, program):
        """What mypy says of a program, by its lines."""
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("mypy is not installed")
        protobuf = self.folder / "site/google/protobuf"
        protobuf.mkdir(parents=True, exist_ok=True)
        for path, content in ((protobuf.parent / "__init__.pyi", ""), (protobuf / "__init__.pyi", ""),
                              (protobuf / "message.pyi", PROTOBUF), (self.folder / "program.py", program)):
            path.write_text(content, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports",
             "--hide-error-context", f"--cache-dir={self.folder}/cache", "program.py", self.stub],
            env={**os.environ, "MYPYPATH": str(self.folder / "site")}, cwd=self.folder, capture_output=True,
            text=True, check=False, timeout=100)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def test_mypy_passes_right_use(self):
        self.assertRegex(self.mypy(RIGHT), r"^Success: no issues found in 2 source files")

    def test_mypy_finds_wrong_use(self):
        said = self.mypy(WRONG)
        lines = list(enumerate(WRONG.splitlines(), 1))[2:]
        for number, line in lines:
            self.assertRegex(said, rf"program\.py:{number}: error: .*{re.escape(line.split('  # ')[1])}")
        numbers = set(re.findall(r"^(\S+:\d+): error", said, re.MULTILINE))
        self.assertEqual(numbers, {f"program.py:{number}" for number, _ in lines})

    def test_pip_installs_it_from_the_source(self):
        if any(importlib.util.find_spec(name) is None for name in ("pip", "setuptools", "wheel")):
            self.skipTest("pip, setuptools or wheel is not installed")
        installed = self.folder / "installed"
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation",
                        "--no-deps", "--root-user-action=ignore", "--target", installed, self.source], check=True)
        self.assertEqual((installed / "voxloc/messages.pyi").read_bytes(), self.stub.read_bytes())


if __name__ == "__main__":
    unittest.main()
