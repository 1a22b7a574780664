# SPDX-License-Identifier: Apache-2.0
"""The messages and calls of voxloc.v1, made at import from the contract's descriptors.

Code that protoc generates runs with its own version of protobuf and, at best, the next major one.
Descriptors are read by every version, so one package serves protobuf 3.21 to 6. They are kept in
a pool of their own: a program may have other definitions of the same names beside them.
"""

from __future__ import annotations

import pathlib
from typing import Any, Dict, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

DESCRIPTOR_FILE = pathlib.Path(__file__).parent / "voxloc.v1.binpb"


class Method(NamedTuple):
    """A call of the contract."""

    path: str  # "/voxloc.v1.MapService/GetMap"
    request: Any  # class of the messages that the client sends
    response: Any  # class of the messages that the server sends
    client_streaming: bool
    server_streaming: bool


class Contract:
    """Message classes by their full names, values of enums by theirs, and calls by their names."""

    def __init__(self, descriptors: bytes):
        self.files = descriptor_pb2.FileDescriptorSet.FromString(descriptors)
        self._pool = descriptor_pool.DescriptorPool()
        self._message_class = self._class_maker()
        self.messages: Dict[str, Any] = {}
        self.enum_values: Dict[str, int] = {}
        self.methods: Dict[str, Method] = {}
        for file in self.files.file:
            self._pool.AddSerializedFile(file.SerializeToString())
        for file in self.files.file:
            self._add(file)

    def _class_maker(self) -> Any:
        # The function came with protobuf 4.22, and the class went with 5.26.
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass
        return message_factory.MessageFactory(self._pool).GetPrototype

    def _add(self, file: descriptor_pb2.FileDescriptorProto) -> None:
        for message in file.message_type:
            name = f"{file.package}.{message.name}"
            self.messages[name] = self._message_class(self._pool.FindMessageTypeByName(name))
        for enum in file.enum_type:
            for value in enum.value:
                self.enum_values[f"{file.package}.{value.name}"] = value.number
        for service in file.service:
            for method in service.method:
                self.methods[method.name] = Method(
                    f"/{file.package}.{service.name}/{method.name}",
                    self._class_of(method.input_type), self._class_of(method.output_type),
                    method.client_streaming, method.server_streaming)

    def _class_of(self, type_name: str) -> Any:
        return self._message_class(self._pool.FindMessageTypeByName(type_name.lstrip(".")))


CONTRACT = Contract(DESCRIPTOR_FILE.read_bytes())
