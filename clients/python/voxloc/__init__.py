# SPDX-License-Identifier: Apache-2.0
"""voxloc finds where a LiDAR scan was taken in a prior map.

In this process (docs/library.md):

    import voxloc
    localizer = voxloc.Localizer(voxloc.Map.from_file("town.pcd"))
    print(localizer.align(points, guess).map_T_base)

By a server:

    with voxloc.Client("localhost:50051") as client:
        with client.session("town") as session:
            session.send(voxloc.Scan(points, stamp_ns=stamp, guess_map_T_base=guess))
            print(session.receive().map_T_base)

voxloc.serve runs a server, voxloc.aio has the client for asyncio, voxloc.messages the messages of the
contract, and voxloc.io readers of files. The client needs grpcio and protobuf, the library the native
part of the package; each is imported when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from voxloc.pose import Pose

if TYPE_CHECKING:
    from voxloc import aio, io, messages
    from voxloc._route import ReconnectOptions
    from voxloc._security import ChannelOptions
    from voxloc.cells import Cells
    from voxloc.client import Client
    from voxloc.errors import Error, NoResult, SessionClosed
    from voxloc.localizer import Alignment, Localizer, Location, Map, Scores, align
    from voxloc.result import FusedPose, Hypothesis, PoseScores, Result, SearchResult, Status
    from voxloc.scan import Scan, SensorCloud, Setup, decode_cloud
    from voxloc.server import Server, serve
    from voxloc.session import Session
    from voxloc.tile import Tile, tile_digest
    from voxloc.watch import MapWatch

__version__ = "0.1.0"

# The module of each name; an empty one is the module of that name.
_MODULES = {
    "aio": "", "io": "", "messages": "",
    "ReconnectOptions": "_route", "ChannelOptions": "_security", "Cells": "cells", "Client": "client",
    "Error": "errors", "NoResult": "errors", "SessionClosed": "errors",
    "Alignment": "localizer", "Localizer": "localizer", "Location": "localizer", "Map": "localizer",
    "Scores": "localizer", "align": "localizer",
    "FusedPose": "result", "Hypothesis": "result", "PoseScores": "result", "Result": "result",
    "SearchResult": "result", "Status": "result",
    "Scan": "scan", "SensorCloud": "scan", "Setup": "scan", "decode_cloud": "scan",
    "Server": "server", "serve": "server", "Session": "session", "Tile": "tile", "tile_digest": "tile",
    "MapWatch": "watch",
}

__all__ = ["Pose", *_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'voxloc' has no attribute '{name}'")
    module = importlib.import_module("voxloc." + (_MODULES[name] or name))
    value = getattr(module, name) if _MODULES[name] else module
    globals()[name] = value
    return value


def __dir__() -> Any:
    return sorted({*globals(), *__all__})
