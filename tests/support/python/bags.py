# SPDX-License-Identifier: Apache-2.0
"""Writes small bags of ROS from the formats' specifications, with the standard library only.

A recording is a list of (topic, type in ROS 2's form, time in ns, message); a message is one of the
classes below. `write_rosbag2`, `write_mcap` and `write_ros1` write it.
"""

import bz2
import math
import pathlib
import sqlite3
import struct
import zlib


class Cdr:
    """CDR, little-endian, as ROS 2 has it."""

    def __init__(self):
        self.bytes = bytearray()

    def put(self, code, *values):
        size = struct.calcsize("<" + code)
        for value in values:
            self.bytes += bytes(-len(self.bytes) % size) + struct.pack("<" + code, value)

    def text(self, text):
        data = text.encode() + b"\0"
        self.put("I", len(data))
        self.bytes += data

    def header(self, stamp_ns, frame):
        self.put("i", stamp_ns // 10**9)
        self.put("I", stamp_ns % 10**9)
        self.text(frame)

    def done(self):
        return b"\0\1\0\0" + bytes(self.bytes)


class Ros1:
    """ROS 1's serialization."""

    def __init__(self):
        self.bytes = bytearray()

    def put(self, code, *values):
        for value in values:
            self.bytes += struct.pack("<" + code, value)

    def text(self, text):
        self.put("I", len(text.encode()))
        self.bytes += text.encode()

    def header(self, stamp_ns, frame):
        self.put("I", 0, stamp_ns // 10**9, stamp_ns % 10**9)
        self.text(frame)

    def done(self):
        return bytes(self.bytes)


class Cloud:
    """sensor_msgs/PointCloud2 of float32 x, y, z; `points` are their bytes."""

    def __init__(self, stamp_ns, frame, points):
        self.stamp_ns, self.frame, self.points = stamp_ns, frame, points

    def write(self, out):
        out.header(self.stamp_ns, self.frame)
        out.put("I", 1, len(self.points) // 12, 3)
        for i, name in enumerate("xyz"):
            out.text(name)
            out.put("I", 4 * i)
            out.put("B", 7)
            out.put("I", 1)
        out.put("B", 0)
        out.put("I", 12, len(self.points), len(self.points))
        out.bytes += self.points
        out.put("B", 1)


class TimedCloud:
    """sensor_msgs/PointCloud2 as Velodyne's driver has it: float32 x, y, z and intensity, uint16 ring and
    float32 time, seconds after the stamp; `points` are tuples of x, y, z and time."""

    FIELDS = (("x", 0, 7), ("y", 4, 7), ("z", 8, 7), ("intensity", 12, 7), ("ring", 16, 4),
              ("time", 18, 7))
    STEP = 22

    def __init__(self, stamp_ns, frame, points):
        self.stamp_ns, self.frame, self.points = stamp_ns, frame, points

    def write(self, out):
        out.header(self.stamp_ns, self.frame)
        out.put("I", 1, len(self.points), len(self.FIELDS))
        for name, offset, kind in self.FIELDS:
            out.text(name)
            out.put("I", offset)
            out.put("B", kind)
            out.put("I", 1)
        out.put("B", 0)
        size = self.STEP * len(self.points)
        out.put("I", self.STEP, size, size)
        for x, y, z, time in self.points:
            out.bytes += struct.pack("<4fHf", x, y, z, 1.0, 7, time)
        out.put("B", 1)


class Odometry:
    """nav_msgs/Odometry; `pose` is x, y, z and a quaternion x, y, z, w."""

    def __init__(self, stamp_ns, frame, child, pose):
        self.stamp_ns, self.frame, self.child, self.pose = stamp_ns, frame, child, pose

    def write(self, out):
        out.header(self.stamp_ns, self.frame)
        out.text(self.child)
        out.put("d", *self.pose, *[0.0] * 36, *[0.0] * 6, *[0.0] * 36)


class PoseWithCovariance:
    """geometry_msgs/PoseWithCovarianceStamped; `pose` as of Odometry."""

    def __init__(self, stamp_ns, frame, pose):
        self.stamp_ns, self.frame, self.pose = stamp_ns, frame, pose

    def write(self, out):
        out.header(self.stamp_ns, self.frame)
        out.put("d", *self.pose, *[0.0] * 36)


class Number:
    """Autoware's Float32Stamped, or Int32Stamped with the code "i"."""

    def __init__(self, stamp_ns, value, code="f"):
        self.stamp_ns, self.value, self.code = stamp_ns, value, code

    def write(self, out):
        out.put("i", self.stamp_ns // 10**9)
        out.put("I", self.stamp_ns % 10**9)
        out.put(self.code, self.value)


class Diagnostics:
    """diagnostic_msgs/DiagnosticArray with one status."""

    def __init__(self, stamp_ns, name, level, message, values):
        self.stamp_ns, self.name, self.level, self.message = stamp_ns, name, level, message
        self.values = values

    def write(self, out):
        out.header(self.stamp_ns, "")
        out.put("I", 1)
        out.put("B", self.level)
        for text in (self.name, self.message, "hardware"):
            out.text(text)
        out.put("I", len(self.values))
        for key, value in self.values.items():
            out.text(key)
            out.text(value)


class Transform:
    """tf2_msgs/TFMessage with one transform; `pose` as of Odometry."""

    def __init__(self, stamp_ns, frame, child, pose):
        self.stamp_ns, self.frame, self.child, self.pose = stamp_ns, frame, child, pose

    def write(self, out):
        out.put("I", 1)
        out.header(self.stamp_ns, self.frame)
        out.text(self.child)
        out.put("d", *self.pose)


def _serialized(recording, make):
    for topic, kind, time_ns, message in recording:
        out = make()
        message.write(out)
        yield topic, kind, time_ns, out.done()


def _topics(recording):
    return {topic: (i + 1, kind) for i, (topic, kind) in
            enumerate(dict((row[0], row[1]) for row in recording).items())}


def write_rosbag2(path, recording):
    """rosbag2 with SQLite, with the tables and the index of its storage plugin."""
    with sqlite3.connect(path) as bag:
        bag.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,"
                    " serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL)")
        bag.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,"
                    " timestamp INTEGER NOT NULL, data BLOB NOT NULL)")
        bag.execute("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
        topics = _topics(recording)
        for name, (number, kind) in topics.items():
            bag.execute("INSERT INTO topics VALUES(?, ?, ?, 'cdr', '')", (number, name, kind))
        for topic, _, time_ns, data in _serialized(recording, Cdr):
            bag.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES(?, ?, ?)",
                        (topics[topic][0], time_ns, data))
    bag.close()


def _record(kind, content):
    return struct.pack("<BQ", kind, len(content)) + content


def _text(text):
    return struct.pack("<I", len(text)) + text.encode()


def write_mcap(path, recording, messages_per_chunk=7):
    """MCAP with chunks, a summary and checksums (https://mcap.dev/spec)."""
    topics = _topics(recording)
    definitions = b"".join(
        _record(3, struct.pack("<H", number) + _text(kind) + _text("ros2msg") + _text("")) +
        _record(4, struct.pack("<HH", number, number) + _text(name) + _text("cdr") + struct.pack("<I", 0))
        for name, (number, kind) in topics.items())
    file = b"\x89MCAP0\r\n" + _record(1, _text("ros2") + _text("voxloc's tests")) + definitions
    index, counts = b"", {number: 0 for number, _ in topics.values()}
    rows = list(_serialized(recording, Cdr))
    for begin in range(0, len(rows), messages_per_chunk):
        part = rows[begin:begin + messages_per_chunk]
        records = b""
        for topic, _, time_ns, data in part:
            number = topics[topic][0]
            counts[number] += 1
            records += _record(5, struct.pack("<HIQQ", number, 0, time_ns, time_ns) + data)
        times = [row[2] for row in part]
        chunk = _record(6, struct.pack("<QQQI", min(times), max(times), len(records), zlib.crc32(records)) +
                        _text("") + struct.pack("<Q", len(records)) + records)
        channels = b"".join(struct.pack("<HQ", topics[name][0], 0) for name in {row[0] for row in part})
        index += _record(8, struct.pack("<QQQQI", min(times), max(times), len(file), len(chunk),
                                        len(channels)) + channels +
                         struct.pack("<Q", 0) + _text("") + struct.pack("<QQ", len(records), len(records)))
        file += chunk
    file += _record(15, struct.pack("<I", 0))
    times = [row[2] for row in rows]
    statistics = struct.pack("<QHIIIIQQI", len(rows), len(topics), len(topics), 0, 0,
                             -(-len(rows) // messages_per_chunk), min(times), max(times), 10 * len(counts))
    statistics += b"".join(struct.pack("<HQ", *row) for row in counts.items())
    summary = definitions + index + _record(11, statistics)
    footer = struct.pack("<BQQQ", 2, 20, len(file), 0)
    file += summary + footer + struct.pack("<I", zlib.crc32(summary + footer)) + b"\x89MCAP0\r\n"
    with open(path, "wb") as out:
        out.write(file)


def _fields(**fields):
    parts = (name.encode() + b"=" + value for name, value in fields.items())
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def _ros1_record(header, data):
    return struct.pack("<I", len(header)) + header + struct.pack("<I", len(data)) + data


def _ros1_time(time_ns):
    return struct.pack("<II", time_ns // 10**9, time_ns % 10**9)


def write_ros1(path, recording, compression="none", messages_per_chunk=7):
    """A ROS 1 bag of version 2.0 (https://wiki.ros.org/Bags/Format/2.0), with an index."""
    topics = _topics(recording)
    u32 = lambda value: struct.pack("<I", value)  # noqa: E731
    connections = b"".join(
        _ros1_record(_fields(op=b"\x07", conn=u32(number), topic=name.encode()),
                     _fields(topic=name.encode(), type=kind.replace("/msg/", "/").encode(), md5sum=b"*",
                             message_definition=b""))
        for name, (number, kind) in topics.items())
    rows = list(_serialized(recording, Ros1))
    parts = [rows[i:i + messages_per_chunk] for i in range(0, len(rows), messages_per_chunk)]
    start = b"#ROSBAG V2.0\n"

    def head(index_at):
        fields = _fields(op=b"\x03", index_pos=struct.pack("<Q", index_at), conn_count=u32(len(topics)),
                         chunk_count=u32(len(parts)))
        return _ros1_record(fields, b" " * (4096 - 8 - len(fields)))

    body, infos = b"", b""
    for number, part in enumerate(parts):
        at = len(start) + 4096 + len(body)
        records = connections if number == 0 else b""
        counts = {}
        for topic, _, time_ns, data in part:
            connection = topics[topic][0]
            counts[connection] = counts.get(connection, 0) + 1
            records += _ros1_record(_fields(op=b"\x02", conn=u32(connection), time=_ros1_time(time_ns)), data)
        stored = bz2.compress(records) if compression == "bz2" else records
        body += _ros1_record(_fields(op=b"\x05", compression=compression.encode(), size=u32(len(records))),
                             stored)
        times = [row[2] for row in part]
        infos += _ros1_record(
            _fields(op=b"\x06", ver=u32(1), chunk_pos=struct.pack("<Q", at),
                    start_time=_ros1_time(min(times)), end_time=_ros1_time(max(times)),
                    count=u32(len(counts))),
            b"".join(struct.pack("<II", *row) for row in counts.items()))
    with open(path, "wb") as out:
        out.write(start + head(len(start) + 4096 + len(body)) + body + connections + infos)


def read_pcd_points(path):
    """The x, y, z of a binary PCD file of float32 fields x, y, z and maybe others, as bytes."""
    with open(path, "rb") as file:
        data = file.read()
    head, _, body = data.partition(b"DATA binary\n")
    fields = dict(line.split(" ", 1) for line in head.decode().splitlines() if " " in line)
    stride = sum(int(size) for size in fields["SIZE"].split())
    count = int(fields["POINTS"])
    assert fields["FIELDS"].startswith("x y z") and fields["SIZE"].startswith("4 4 4")
    if stride == 12:
        return body[:12 * count]
    return b"".join(body[i * stride:i * stride + 12] for i in range(count))


def read_pcd_timed_points(path):
    """Tuples of x, y, z and t of a binary PCD file of these float32 fields."""
    head, _, body = pathlib.Path(path).read_bytes().partition(b"DATA binary\n")
    assert b"FIELDS x y z t\nSIZE 4 4 4 4\n" in head, head
    return list(struct.iter_unpack("<4f", body))


def read_kitti_poses(path):
    """Of each line, x, y, z and a unit quaternion x, y, z, w."""
    poses = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            m = [float(number) for number in line.split()]
            r = [m[0:3], m[4:7], m[8:11]]
            # The largest of the four components is the one to divide by.
            squares = [1 + r[0][0] - r[1][1] - r[2][2], 1 - r[0][0] + r[1][1] - r[2][2],
                       1 - r[0][0] - r[1][1] + r[2][2], 1 + r[0][0] + r[1][1] + r[2][2]]
            products = {(0, 1): r[0][1] + r[1][0], (0, 2): r[0][2] + r[2][0], (1, 2): r[1][2] + r[2][1],
                        (0, 3): r[2][1] - r[1][2], (1, 3): r[0][2] - r[2][0], (2, 3): r[1][0] - r[0][1]}
            best = max(range(4), key=lambda i: squares[i])
            root = math.sqrt(squares[best])
            q = [root / 2 if i == best else products[min(i, best), max(i, best)] / (2 * root)
                 for i in range(4)]
            poses.append([m[3], m[7], m[11], *q])
    return poses


def drive_recording(clouds, poses, start_ns, mount=None):
    """A drive of 10 Hz: `clouds` are bytes of points, `poses` x, y, z and a quaternion.

    The base frame is base_link, poses are in map; the clouds are in base_link, or with a `mount` (a
    pose base_link_T_lidar) in lidar. Clouds that are lists of points with times are TimedCloud.
    """
    frame = "base_link" if mount is None else "lidar"
    rows = []
    if mount is not None:
        rows.append(("/tf_static", "tf2_msgs/msg/TFMessage", start_ns,
                     Transform(start_ns, "base_link", "lidar", mount)))
    for i, (points, pose) in enumerate(zip(clouds, poses)):
        stamp_ns = start_ns + i * 100_000_000
        rows.append(("/odometry", "nav_msgs/msg/Odometry", stamp_ns,
                     Odometry(stamp_ns, "map", "base_link", pose)))
        kind = TimedCloud if isinstance(points, list) else Cloud
        rows.append(("/points", "sensor_msgs/msg/PointCloud2", stamp_ns + 1000,
                     kind(stamp_ns, frame, points)))
    return rows


POSE_ESTIMATOR = "/localization/pose_estimator"


def localizer_recording(clouds, results, frame="base_link"):
    """What Autoware records of its ndt_scan_matcher, which found `results`: rows of the JSON of
    `voxloc replay`, for each of the clouds. Poses of other nodes are there too."""
    with_covariance = "geometry_msgs/msg/PoseWithCovarianceStamped"
    number = "autoware_internal_debug_msgs/msg/"
    rows = []
    for points, result in zip(clouds, results):
        stamp_ns = result["stamp_ns"]

        def add(topic, kind, message, stamp_ns=stamp_ns):
            rows.append((topic, kind, stamp_ns, message))

        def publish(name, kind, message):
            add(f"{POSE_ESTIMATOR}/{name}", kind, message)

        add("/localization/util/downsample/pointcloud", "sensor_msgs/msg/PointCloud2",
            Cloud(stamp_ns, frame, points))
        add("/sensing/gnss/pose_with_covariance", with_covariance,
            PoseWithCovariance(stamp_ns, "map", result["truth"]))
        add("/system/exe_time_ms", number + "Float32Stamped", Number(stamp_ns, 1e6))
        publish("points_aligned", "sensor_msgs/msg/PointCloud2", Cloud(stamp_ns, "map", points))
        publish("initial_pose_with_covariance", with_covariance,
                PoseWithCovariance(stamp_ns, "map", result["guess"]))
        publish("exe_time_ms", number + "Float32Stamped", Number(stamp_ns, result["latency_ms"]))
        publish("transform_probability", number + "Float32Stamped",
                Number(stamp_ns, result["scores"]["transform_probability"]))
        publish("nearest_voxel_transformation_likelihood", number + "Float32Stamped",
                Number(stamp_ns, result["scores"]["nvtl"]))
        publish("iteration_num", number + "Int32Stamped", Number(stamp_ns, result["iterations"], "i"))
        accepted = result["accepted"]
        if accepted:
            publish("pose_with_covariance", with_covariance,
                    PoseWithCovariance(stamp_ns, "map", result["pose"]))
        add("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray",
            Diagnostics(stamp_ns, "ndt_scan_matcher: scan_matching_status", 0 if accepted else 1,
                        "OK" if accepted else "Score is below the threshold",
                        {"topic_time_stamp": str(stamp_ns)}))
    return rows
