// SPDX-License-Identifier: Apache-2.0
//
// A DDS domain on the loopback of this machine that nobody else uses, so that tests run side by
// side. It works where the machine has no multicast.
//
// Two participants of one process would hand samples to each other without a wire if they were in
// one domain of Cyclone DDS. So each calls JoinedDomain for a domain of its own; these speak to
// each other over UDP as those of two processes do, under the number that was claimed.

#ifndef VOXLOC_TESTS_ROS_WIRE_LOOPBACK_DOMAIN_H_
#define VOXLOC_TESTS_ROS_WIRE_LOOPBACK_DOMAIN_H_

#include <dds/dds.h>

#include <string>

#include "absl/status/statusor.h"

namespace voxloc::ros_wire {

// Bytes that the system grants a socket for what was received and not yet read.
[[nodiscard]] int GrantedReceiveBuffer(int wanted_bytes);

class LoopbackDomain {
 public:
  // ResourceExhausted: all domains are in use.
  [[nodiscard]] static absl::StatusOr<LoopbackDomain> Claim();
  LoopbackDomain(LoopbackDomain&& other) noexcept;
  LoopbackDomain& operator=(LoopbackDomain&& other) noexcept;
  ~LoopbackDomain();

  // ROS_DOMAIN_ID of processes that are to take part.
  [[nodiscard]] int id() const { return id_; }

  // Cyclone's settings for such a process, as CYCLONEDDS_URI takes them: this machine's loopback,
  // no multicast, large fragments. For a domain of Cyclone under another number than `id`, they
  // name `id` as the number on the wire.
  [[nodiscard]] std::string Settings() const;

 private:
  LoopbackDomain(int id, int lock) : id_(id), lock_(lock) {}

  int id_ = -1;
  int lock_ = -1;  // a socket whose name only one process can have
};

// A domain of Cyclone DDS within this process; entities that are made in it end with it.
class JoinedDomain {
 public:
  // InvalidArgument: settings that Cyclone does not take; what is wrong it writes to standard
  // error.
  [[nodiscard]] static absl::StatusOr<JoinedDomain> Join(const std::string& settings);
  JoinedDomain(JoinedDomain&& other) noexcept;
  JoinedDomain& operator=(JoinedDomain&& other) noexcept;
  ~JoinedDomain();

  // What dds_create_participant takes.
  [[nodiscard]] dds_domainid_t id() const { return id_; }

 private:
  JoinedDomain(dds_domainid_t id, dds_entity_t entity) : id_(id), entity_(entity) {}

  dds_domainid_t id_ = 0;
  dds_entity_t entity_ = 0;
};

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_LOOPBACK_DOMAIN_H_
