// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/messages.h"
#include "clients/dataset/bag/pose_source.h"
#include "clients/sim/simulate_command.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct BagInfoFlags {
  std::vector<std::string> paths;
  std::string json;
};

// What the messages themselves say.
struct BagFrames {
  std::vector<std::string> of_topic;  // of the first message; empty: none, or another type
  bag::FrameTree tree;
};

absl::StatusOr<std::string> FirstFrame(const bag::Bag& bag, size_t topic) {
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<bag::Cursor> cursor, bag.Read({topic}));
  bag::Message message;
  VOXLOC_ASSIGN_OR_RETURN(const bool first, cursor->Next(&message));
  if (!first) return std::string();
  const bag::Topic& described = bag.contents().topics[topic];
  VOXLOC_ASSIGN_OR_RETURN(const ros::Header header, bag::DecodeHeader(described, message.bytes));
  if (bag::KindOf(described) != bag::MessageKind::kOdometry) return header.frame_id;
  VOXLOC_ASSIGN_OR_RETURN(const bag::PoseMessage pose, bag::DecodePose(described, message.bytes));
  return absl::StrCat(pose.parent, " -> ", pose.child);
}

absl::StatusOr<BagFrames> ReadFrames(const bag::Bag& bag) {
  BagFrames frames;
  const std::vector<bag::Topic>& topics = bag.contents().topics;
  for (size_t i = 0; i < topics.size(); ++i) {
    frames.of_topic.emplace_back();
    const bag::MessageKind kind = bag::KindOf(topics[i]);
    if (kind == bag::MessageKind::kOther || kind == bag::MessageKind::kTransforms ||
        kind == bag::MessageKind::kNumber) {
      continue;  // no header with a frame
    }
    VOXLOC_ASSIGN_OR_RETURN(frames.of_topic.back(), FirstFrame(bag, i));
  }
  VOXLOC_ASSIGN_OR_RETURN(
      const std::unique_ptr<bag::Cursor> cursor,
      bag.Read(bag::TopicsOfKind(bag.contents(), bag::MessageKind::kTransforms)));
  bag::Message message;
  while (true) {
    VOXLOC_ASSIGN_OR_RETURN(const bool more, cursor->Next(&message));
    if (!more) return frames;
    VOXLOC_ASSIGN_OR_RETURN(const std::vector<bag::PoseMessage> transforms,
                            bag::DecodeTransforms(topics[message.topic], message.bytes));
    // What is no pose has no place among the frames.
    for (const bag::PoseMessage& transform : transforms) frames.tree.Add(transform).IgnoreError();
  }
}

std::string BagText(const bag::BagContents& contents, const BagFrames& frames) {
  const double span_s =
      1e-9 * (static_cast<double>(contents.last_ns) - static_cast<double>(contents.first_ns));
  std::string text = absl::StrFormat("%s: %s messages in %.1f s", contents.format,
                                     GroupDigits(contents.messages()), span_s);
  if (contents.messages() > 0) absl::StrAppend(&text, ", from ", TimeText(contents.first_ns));
  TextTable table("topic|>messages|type|frame");
  for (size_t i = 0; i < contents.topics.size(); ++i) {
    const bag::Topic& topic = contents.topics[i];
    table.AddRow({topic.name, GroupDigits(topic.messages), topic.type, frames.of_topic[i]});
  }
  absl::StrAppend(&text, "\n\n", table.Text());
  if (!frames.tree.edges().empty()) absl::StrAppend(&text, "\ntf: ", frames.tree.Text(), "\n");
  return text;
}

Json BagJson(const bag::BagContents& contents, const BagFrames& frames) {
  Json json;
  json["format"] = contents.format;
  json["messages"] = contents.messages();
  json["first_ns"] = contents.first_ns;
  json["last_ns"] = contents.last_ns;
  json["remarks"] = contents.remarks;
  json["topics"] = Json::array();
  for (size_t i = 0; i < contents.topics.size(); ++i) {
    const bag::Topic& topic = contents.topics[i];
    json["topics"].push_back({{"name", topic.name},
                              {"type", topic.type},
                              {"encoding", topic.encoding},
                              {"messages", topic.messages},
                              {"frame", frames.of_topic[i]}});
  }
  json["frames"] = Json::array();
  for (const auto& [key, edge] : frames.tree.edges()) {
    json["frames"].push_back(
        {{"parent", edge.parent}, {"child", edge.child}, {"moves", edge.moves}});
  }
  return json;
}

absl::StatusOr<ExitCode> BagInfo(const BagInfoFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<bag::Bag> bag, bag::OpenBag(options.paths));
  VOXLOC_ASSIGN_OR_RETURN(const BagFrames frames, ReadFrames(*bag));
  const bag::BagContents& contents = bag->contents();
  if (options.json != "-") {
    for (const std::string& remark : contents.remarks) absl::FPrintF(stderr, "%s\n", remark);
  }
  return Report(options.json, BagText(contents, frames), BagJson(contents, frames));
}

struct SimulateFlags {
  sim::SimulateArguments arguments;
  std::string json;
};

absl::StatusOr<ExitCode> Simulate(const SimulateFlags& options) {
  std::unique_ptr<ProgressBar> bar;
  std::string step_of_bar;
  const auto progress = [&bar, &step_of_bar](absl::string_view step, size_t done, size_t total) {
    if (bar == nullptr || step_of_bar != step) {
      bar.reset();
      step_of_bar = std::string(step);
      bar = std::make_unique<ProgressBar>("simulating", step_of_bar, total);
    }
    bar->Update(done);
  };
  const absl::StatusOr<sim::SimulationSummary> summary =
      sim::RunSimulate(options.arguments, progress);
  bar.reset();
  if (!summary.ok()) return summary.status();
  return Report(options.json, sim::DescribeSimulation(options.arguments, *summary),
                {{"directory", options.arguments.writer.directory},
                 {"map_points", summary->map_points},
                 {"map_tiles", summary->map_tiles},
                 {"scans", summary->scans},
                 {"scan_points", summary->scan_points},
                 {"drive_length_m", summary->drive_length_m},
                 {"drive_duration_s", summary->drive_duration_s}});
}

}  // namespace

void AddBagInfoCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &BagInfo, "info", "List the topics and frames of a bag of ROS",
      R"(A FILE is a bag of ROS 2 (rosbag2 with SQLite or MCAP; a file or its directory) or of ROS 1;
several are one recording. Needs neither ROS nor a server. The frame of a topic is that of
its first message. tf lists each frame with its parent; (moves) means that the transform
between them changes during the recording.

Examples:
  voxloc bag info drive.mcap
  voxloc bag info rosbag2_2026_05_04-10_00_00/ --json -)");
  AddOutputFile(command, "--json", &options->json,
                "Write the result as JSON to FILE; - is standard output");
  command->add_option("FILE", options->paths, "Read these files of one recording")->required();
}

void AddSimulateCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<SimulateFlags>();
  CLI::App* command = sim::AddSimulateCommand(*parent, options->arguments);
  AddOutputFile(command, "--json", &options->json,
                "Write the counts as JSON to FILE; -: standard output")
      ->group("Output");
  command->callback([options, chosen] { *chosen = [options] { return Simulate(*options); }; });
}

}  // namespace voxloc::cli
