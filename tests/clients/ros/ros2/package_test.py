#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of the ROS 2 package holds without ROS: its launch files take Autoware's arguments, and its
package.xml names what its sources and its CMake use."""

import re
import sys
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PACKAGE = Path(sys.argv.pop(1))

# Arguments and their defaults in autoware_core's launch/ndt_scan_matcher.launch.xml; param_file names a
# file of its own package there.
AUTOWARE_ARGUMENTS = {
    "input_pointcloud": "points_raw",
    "input_initial_pose_topic": "ekf_pose_with_covariance",
    "input_regularization_pose_topic": "regularization_pose_with_covariance",
    "input_service_trigger_node": "trigger_node",
    "output_pose_topic": "ndt_pose",
    "output_pose_with_covariance_topic": "ndt_pose_with_covariance",
    "client_map_loader": "pcd_loader_service",
    "node_name": "ndt_scan_matcher",
}
# And what each renames.
AUTOWARE_REMAPS = {
    "points_raw": "$(var input_pointcloud)",
    "ekf_pose_with_covariance": "$(var input_initial_pose_topic)",
    "regularization_pose_with_covariance": "$(var input_regularization_pose_topic)",
    "trigger_node_srv": "$(var input_service_trigger_node)",
    "ndt_pose": "$(var output_pose_topic)",
    "ndt_pose_with_covariance": "$(var output_pose_with_covariance_topic)",
    "pcd_loader_service": "$(var client_map_loader)",
}
# Of the bridge's own.
OWN_REMAPS = {"pointcloud_map": "$(var input_pointcloud_map)"}


# The names of Autoware's launch files that shadow mode reads, in tier4_localization_launch's
# pose_twist_estimator/ndt_scan_matcher.launch.xml.
SHADOW_REMAPS = {
    "points_raw": "/localization/util/downsample/pointcloud",
    "ekf_pose_with_covariance": "/localization/pose_twist_fusion_filter/biased_pose_with_covariance",
    "regularization_pose_with_covariance": "/sensing/gnss/pose_with_covariance",
    "ndt_pose_with_covariance": "/localization/pose_estimator/pose_with_covariance",
    "pcd_loader_service": "/map/get_differential_pointcloud_map",
}


def arguments(launch):
    return {arg.get("name"): arg.get("default") for arg in launch.findall("arg")}


def sources():
    return sorted(PACKAGE.glob("node/*.*")) + sorted(PACKAGE.glob("test/*.*"))


class LaunchFiles(unittest.TestCase):
    def test_takes_autowares_arguments_with_their_defaults(self):
        launch = ElementTree.parse(PACKAGE / "launch/ndt_scan_matcher.launch.xml").getroot()
        given = arguments(launch)
        for name, default in AUTOWARE_ARGUMENTS.items():
            self.assertEqual(given.get(name), default, name)
        self.assertTrue(given["param_file"].endswith("/config/ndt_scan_matcher.param.yaml"))
        # What Autoware does not pass has a default.
        self.assertNotIn(None, given.values())

    def test_renames_what_autoware_renames(self):
        node = ElementTree.parse(PACKAGE / "launch/ndt_scan_matcher.launch.xml").find("node")
        self.assertEqual({r.get("from"): r.get("to") for r in node.findall("remap")},
                         {**AUTOWARE_REMAPS, **OWN_REMAPS})
        self.assertEqual(node.get("name"), "$(var node_name)")
        self.assertEqual([p.get("from") for p in node.findall("param")],
                         ["$(var param_file)", "$(var voxloc_param_file)"])

    def test_shadow_mode_reads_what_autoware_publishes_and_renames_nothing_else(self):
        launch = ElementTree.parse(PACKAGE / "launch/shadow.launch.xml").getroot()
        given = arguments(launch)
        node = launch.find("node")
        renamed = {r.get("from"): given[re.fullmatch(r"\$\(var (.+)\)", r.get("to"))[1]]
                   for r in node.findall("remap")}
        self.assertEqual(renamed, SHADOW_REMAPS)
        self.assertNotEqual(given["node_name"], AUTOWARE_ARGUMENTS["node_name"])
        # After the files, which say otherwise.
        parameters = [(p.get("from") or p.get("name"), p.get("value")) for p in node.findall("param")]
        self.assertEqual(parameters[:3], [("$(var param_file)", None), ("$(var voxloc_param_file)", None),
                                          ("voxloc.shadow", "true")])
        document = (PACKAGE / "../../../docs/ros.md").read_text(encoding="utf-8")
        for name, topic in SHADOW_REMAPS.items():
            self.assertIn(f"`{topic}`", document, name)

    def test_use_only_what_is_there(self):
        files = sorted((PACKAGE / "launch").glob("*.launch.xml"))
        self.assertGreaterEqual(len(files), 2)
        for file in files:
            text = file.read_text(encoding="utf-8")
            launch = ElementTree.fromstring(text)
            given = arguments(launch)
            used = set(re.findall(r"\$\(var ([^)]+)\)", text))
            for name in re.findall(r"\$\(find-pkg-share voxloc_ros\)(/config/[^\"]+)", text):
                config = PACKAGE / name.lstrip("/")
                self.assertTrue(config.is_file(), config)
                # The replacement reads comments too.
                used |= set(re.findall(r"\$\(var ([^)]+)\)", config.read_text(encoding="utf-8")))
            self.assertEqual(used, set(given), file.name)
            node = launch.find("node")
            self.assertEqual(node.get("pkg"), "voxloc_ros")
            cmake = (PACKAGE / "CMakeLists.txt").read_text(encoding="utf-8")
            self.assertIn(f"add_executable({node.get('exec')} ", cmake)


class Documents(unittest.TestCase):
    def test_the_commands_of_ros2_name_what_is_there(self):
        topics = (PACKAGE / "../core/topics.h").read_text(encoding="utf-8")
        launched = set()
        for page in (PACKAGE / "../../../docs/ros.md", PACKAGE / "README.md"):
            text = page.read_text(encoding="utf-8").replace("\\\n", " ")
            for name, words in re.findall(r"^ros2 launch voxloc_ros (\S+)(.*)$", text, re.M):
                launched.add(name)
                launch = ElementTree.parse(PACKAGE / "launch" / name).getroot()
                self.assertLessEqual(set(re.findall(r" (\w+):=", words)), set(arguments(launch)), name)
            for name in re.findall(r"^ros2 topic echo /shadow/(\S+)$", text, re.M):
                self.assertIn(f'"{name}"', topics)
        self.assertEqual(launched, {file.name for file in PACKAGE.glob("launch/*.xml")})


class PackageXml(unittest.TestCase):
    def setUp(self):
        self.package = ElementTree.parse(PACKAGE / "package.xml").getroot()
        self.declared = {e.text for e in self.package if e.tag.endswith("depend")}

    def test_has_the_name_and_version_of_cmake(self):
        cmake = (PACKAGE / "CMakeLists.txt").read_text(encoding="utf-8")
        project = re.search(r"project\((\w+) VERSION ([0-9.]+)", cmake)
        self.assertEqual(self.package.findtext("name"), project[1])
        self.assertEqual(self.package.findtext("version"), project[2])
        root = (PACKAGE / "../../../CMakeLists.txt").read_text(encoding="utf-8")
        self.assertIn(f"project(voxloc VERSION {project[2]} ", root)

    def test_declares_what_sources_include(self):
        included = set()
        for file in sources():
            for header in re.findall(r"#include <([^>]+)>", file.read_text(encoding="utf-8")):
                if "/" in header and (header.endswith((".hpp", ".h"))):
                    included.add(header.split("/")[0])
        included -= {"Eigen", "gtest", "gmock", "sys"}
        self.assertIn("rclcpp", included)
        # The other type of ndt_align_srv, used where the declared one is missing.
        self.assertLessEqual(included - {"tier4_localization_msgs"}, self.declared)

    def test_declares_what_cmake_looks_for(self):
        cmake = (PACKAGE / "CMakeLists.txt").read_text(encoding="utf-8")
        listed = re.search(r"set\(ros_packages([^)]+)\)", cmake)[1].split()
        self.assertIn("rclcpp", listed)
        self.assertLessEqual(set(listed), self.declared)


class Component(unittest.TestCase):
    def test_is_registered_under_the_name_of_its_class(self):
        cmake = (PACKAGE / "CMakeLists.txt").read_text(encoding="utf-8")
        plugin = re.search(r"rclcpp_components_register_nodes\([^\"]+\"([^\"]+)\"\)", cmake)[1]
        source = (PACKAGE / "node/component.cc").read_text(encoding="utf-8")
        self.assertIn(f"RCLCPP_COMPONENTS_REGISTER_NODE({plugin})", source)
        readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
        self.assertIn(plugin, readme)

    def test_cmake_lists_every_source(self):
        for folder, cmake in (("node", PACKAGE / "CMakeLists.txt"),
                              ("test", PACKAGE / "test/CMakeLists.txt")):
            text = cmake.read_text(encoding="utf-8")
            for source in (PACKAGE / folder).glob("*.cc"):
                self.assertIn(source.name, text)


class Workspace(unittest.TestCase):
    def test_colcon_finds_the_package_and_not_the_repository(self):
        # A CMakeLists.txt makes a folder a package for colcon, and it looks no deeper.
        self.assertTrue((PACKAGE / "../../../COLCON_IGNORE").is_file())


if __name__ == "__main__":
    unittest.main()
