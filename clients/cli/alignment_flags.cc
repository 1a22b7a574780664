// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/alignment_flags.h"

#include <CLI/CLI.hpp>

#include "clients/cli/field_flag.h"
#include "clients/cli/pose_flag.h"
#include "clients/cli/pose_text.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {

void AlignmentFlags::AddTo(v1::ScanSetup* setup) const {
  if (!overrides.empty()) SetFields(overrides, setup->mutable_options()->mutable_overrides());
  if (!gate.empty()) SetFields(gate, setup->mutable_options()->mutable_gate());
  if (!vehicle.empty()) setup->set_vehicle(vehicle);
  if (base_T_sensor.empty()) return;
  if (const absl::StatusOr<Pose> mount = ParsePoseText(base_T_sensor); mount.ok()) {
    client::EncodePose(*mount, setup->mutable_base_t_sensor());
  }
}

void AddAlignmentFlags(CLI::App* command, AlignmentFlags* flags) {
  AddScoringFlags(command, flags);
  AddFieldFlag(command, "--gate",
               "Replace a limit that decides whether a result is accepted, SI units",
               v1::GateOptions::default_instance(), &flags->gate);
}

void AddScoringFlags(CLI::App* command, AlignmentFlags* flags) {
  AddFieldFlag(command, "--override", "Replace a value of the profile's stages, SI units",
               v1::AlignmentOverrides::default_instance(), &flags->overrides);
  AddPoseFlag(command, "--base-t-sensor",
              "Place the sensor on the vehicle by this pose, metres and degrees, ROS angles; "
              "default: the scans are in base axes",
              &flags->base_T_sensor);
  command
      ->add_option("--vehicle", flags->vehicle,
                   "Tell the server this name of the vehicle, which may decide what the caller may "
                   "do; default: the command's own name")
      ->type_name("NAME");
}

}  // namespace voxloc::cli
