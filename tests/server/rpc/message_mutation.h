// SPDX-License-Identifier: Apache-2.0
//
// Mutations of a message of any kind by reflection: its numbers at their extremes, texts that are
// empty, long or no text, other numbers of repeated values, parts that are missing or empty, values
// that an enumeration does not have. Thread-safe: no shared state.

#ifndef VOXLOC_TESTS_SERVER_RPC_MESSAGE_MUTATION_H_
#define VOXLOC_TESTS_SERVER_RPC_MESSAGE_MUTATION_H_

#include <google/protobuf/message.h>

#include <random>

namespace voxloc::server {

// Changes one field of the message or of one of its parts, set before or not. The same generator
// state gives the same mutation.
void MutateField(google::protobuf::Message& message, std::mt19937_64& random);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_RPC_MESSAGE_MUTATION_H_
