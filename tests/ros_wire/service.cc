// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/service.h"

#include <set>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/support/eventually.h"

namespace voxloc::ros_wire {
namespace {

// Of rmw_send_response in rmw_cyclonedds.
constexpr absl::Duration kAwaitClient = absl::Milliseconds(100);

using Matches = dds_return_t (*)(dds_entity_t, dds_instance_handle_t*, size_t);
using MatchData = dds_builtintopic_endpoint_t* (*)(dds_entity_t, dds_instance_handle_t);

// The value of `key` in the user data of a matched endpoint ("key=value;..."). Empty: it has none.
std::string IdOf(dds_entity_t entity, dds_instance_handle_t match, MatchData data_of,
                 absl::string_view key) {
  dds_builtintopic_endpoint_t* endpoint = data_of(entity, match);
  if (endpoint == nullptr) return "";
  std::string id;
  void* data = nullptr;
  size_t size = 0;
  if (dds_qget_userdata(endpoint->qos, &data, &size) && data != nullptr) {
    const absl::string_view text(static_cast<const char*>(data), size);
    for (const absl::string_view pair : absl::StrSplit(text, ';')) {
      if (pair.substr(0, key.size()) == key && pair.substr(key.size(), 1) == "=") {
        id = std::string(pair.substr(key.size() + 1));
      }
    }
    dds_free(data);
  }
  dds_builtintopic_free_endpoint(endpoint);
  return id;
}

std::multiset<std::string> IdsOf(dds_entity_t entity, Matches matches, MatchData data_of,
                                 absl::string_view key) {
  std::vector<dds_instance_handle_t> handles(64);  // far more than take part in a test
  const dds_return_t count = matches(entity, handles.data(), handles.size());
  std::multiset<std::string> ids;
  for (dds_return_t i = 0; i < count && i < static_cast<dds_return_t>(handles.size()); ++i) {
    ids.insert(IdOf(entity, handles[static_cast<size_t>(i)], data_of, key));
  }
  return ids;
}

}  // namespace

bool ServiceEndpoints::HasServer() const {
  const auto readers =
      IdsOf(writer, dds_get_matched_subscriptions, dds_get_matched_subscription_data, "serviceid");
  const auto writers =
      IdsOf(reader, dds_get_matched_publications, dds_get_matched_publication_data, "serviceid");
  for (const std::string& id : readers) {
    if (writers.count(id) > 0) return true;
  }
  return false;
}

bool ServiceEndpoints::AwaitClient(dds_instance_handle_t request_writer) const {
  const std::string client =
      IdOf(reader, request_writer, dds_get_matched_publication_data, "clientid");
  return Eventually(
      [&] {
        return IdsOf(writer, dds_get_matched_subscriptions, dds_get_matched_subscription_data,
                     "clientid")
                   .count(client) > 0;
      },
      kAwaitClient);
}

}  // namespace voxloc::ros_wire
