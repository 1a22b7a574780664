# SPDX-License-Identifier: Apache-2.0
"""Client of voxloc, a service that finds where a LiDAR scan was taken in a prior map.

    import voxloc
    with voxloc.Client("localhost:50051") as client:
        with client.session("town") as session:
            session.send(voxloc.Scan(points, stamp_ns=stamp, guess_map_T_base=guess))
            print(session.receive().map_T_base)

voxloc.aio has the same for asyncio, voxloc.messages the messages of the contract, and voxloc.io
readers of files.
"""

from voxloc import aio, io, messages
from voxloc._route import ReconnectOptions
from voxloc._security import ChannelOptions
from voxloc.cells import Cells
from voxloc.client import Client
from voxloc.errors import Error, NoResult, SessionClosed
from voxloc.pose import Pose
from voxloc.result import FusedPose, Hypothesis, PoseScores, Result, SearchResult, Status
from voxloc.scan import Scan, SensorCloud, Setup, decode_cloud
from voxloc.session import Session
from voxloc.tile import Tile, tile_digest
from voxloc.watch import MapWatch

__version__ = "0.1.0"

__all__ = [
    "Cells", "ChannelOptions", "Client", "Error", "FusedPose", "Hypothesis", "MapWatch", "NoResult", "Pose", "PoseScores",
    "ReconnectOptions", "Result", "Scan", "SearchResult", "SensorCloud", "Session",
    "SessionClosed", "Setup", "Status", "Tile", "aio", "decode_cloud", "io", "messages",
    "tile_digest",
]
