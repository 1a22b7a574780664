// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/loopback_domain.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace voxloc::ros_wire {
namespace {

// ROS 2's documentation ("The ROS_DOMAIN_ID") advises up to 101 on Linux: the ports of higher ones
// are among those that the kernel gives to anyone. 0 is everybody's default.
constexpr int kFirstDomain = 1;
constexpr int kLastDomain = 101;

// Of the DDSI specification (2.5, 9.6.2.3): the port on which the first participant of a domain is
// discovered.
constexpr int kPortBase = 7400;
constexpr int kPortsPerDomain = 250;
constexpr int kUnicastDiscovery = 10;

// Of the notes on Cyclone DDS and large clouds in docs/ros.md.
constexpr char kSettings[] =
    "<CycloneDDS><Domain Id=\"any\">"
    "<General>"
    "<Interfaces><NetworkInterface name=\"lo\"/></Interfaces>"
    "<AllowMulticast>false</AllowMulticast>"
    "<MaxMessageSize>65500B</MaxMessageSize>"
    "<FragmentSize>65000B</FragmentSize>"
    "</General>"
    "<Discovery>"
    "<ExternalDomainId>$0</ExternalDomainId>"
    "<ParticipantIndex>auto</ParticipantIndex>"
    "<Peers><Peer Address=\"127.0.0.1\"/></Peers>"
    "</Discovery>"
    "</Domain></CycloneDDS>";

// The socket, or -1: another process has the name. Names of this kind end with their process.
int LockOf(int domain) {
  const int lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (lock < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = absl::StrCat("voxloc-ros-wire-domain-", domain);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(lock, reinterpret_cast<const sockaddr*>(&address), length) == 0) return lock;
  close(lock);
  return -1;
}

// Whether another program takes part in the domain.
bool IsInUse(int domain) {
  const int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return true;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port =
      htons(static_cast<uint16_t>(kPortBase + kPortsPerDomain * domain + kUnicastDiscovery));
  const bool taken = bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
  close(probe);
  return taken;
}

}  // namespace

int GrantedReceiveBuffer(int wanted_bytes) {
  const int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return 0;
  setsockopt(probe, SOL_SOCKET, SO_RCVBUF, &wanted_bytes, sizeof wanted_bytes);
  int doubled = 0;  // socket(7): the kernel doubles the value for its own use
  socklen_t length = sizeof doubled;
  getsockopt(probe, SOL_SOCKET, SO_RCVBUF, &doubled, &length);
  close(probe);
  return doubled / 2;
}

absl::StatusOr<LoopbackDomain> LoopbackDomain::Claim() {
  constexpr int kDomains = kLastDomain - kFirstDomain + 1;
  const int start = static_cast<int>(std::random_device()() % kDomains);
  for (int i = 0; i < kDomains; ++i) {
    const int domain = kFirstDomain + (start + i) % kDomains;
    const int lock = LockOf(domain);
    if (lock < 0) continue;
    if (!IsInUse(domain)) return LoopbackDomain(domain, lock);
    close(lock);
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the DDS domains ", kFirstDomain, " to ", kLastDomain, " are all in use here"));
}

LoopbackDomain::LoopbackDomain(LoopbackDomain&& other) noexcept
    : id_(other.id_), lock_(std::exchange(other.lock_, -1)) {}

LoopbackDomain& LoopbackDomain::operator=(LoopbackDomain&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(lock_, other.lock_);
  return *this;
}

LoopbackDomain::~LoopbackDomain() {
  if (lock_ >= 0) close(lock_);
}

std::string LoopbackDomain::Settings() const { return absl::Substitute(kSettings, id_); }

absl::StatusOr<JoinedDomain> JoinedDomain::Join(const std::string& settings) {
  static std::atomic<dds_domainid_t> next{1};
  const dds_domainid_t id = next++;
  const dds_entity_t entity = dds_create_domain(id, settings.c_str());
  if (entity < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Cyclone DDS does not take the settings (", dds_strretcode(entity), ")"));
  }
  return JoinedDomain(id, entity);
}

JoinedDomain::JoinedDomain(JoinedDomain&& other) noexcept
    : id_(other.id_), entity_(std::exchange(other.entity_, 0)) {}

JoinedDomain& JoinedDomain::operator=(JoinedDomain&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(entity_, other.entity_);
  return *this;
}

JoinedDomain::~JoinedDomain() {
  if (entity_ > 0) dds_delete(entity_);
}

}  // namespace voxloc::ros_wire
