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
    # `as`: for type checkers, the names are the package's to give.
    from voxloc import aio as aio, io as io, messages as messages
    from voxloc._route import ReconnectOptions as ReconnectOptions
    from voxloc._security import ChannelOptions as ChannelOptions
    from voxloc.cells import Cells as Cells
    from voxloc.client import Client as Client
    from voxloc.errors import Error as Error, NoResult as NoResult, SessionClosed as SessionClosed
    from voxloc.localizer import (Alignment as Alignment, Localizer as Localizer, Location as Location, Map as Map,
                                  Scores as Scores, align as align)
    from voxloc.result import (FusedPose as FusedPose, Hypothesis as Hypothesis, PoseScores as PoseScores,
                               Result as Result, SearchResult as SearchResult, Status as Status)
    from voxloc.scan import (Scan as Scan, SensorCloud as SensorCloud, Setup as Setup, decode_cloud as decode_cloud)
    from voxloc.server import Server as Server, serve as serve
    from voxloc.session import Session as Session
    from voxloc.tile import Tile as Tile, tile_digest as tile_digest
    from voxloc.watch import MapWatch as MapWatch

__version__ = "0.2.0"

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
