// SPDX-License-Identifier: Apache-2.0
//
// The numbers of messages of any kind, by reflection, and their extremes. Thread-safe: no shared
// state.

#ifndef VOXLOC_TESTS_SERVER_RPC_MESSAGE_NUMBERS_H_
#define VOXLOC_TESTS_SERVER_RPC_MESSAGE_NUMBERS_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace voxloc::server {

// A number of a message: the field, its index where it is repeated, and its path without indices.
// Enumerations are numbers.
struct Number {
  google::protobuf::Message* parent = nullptr;
  const google::protobuf::FieldDescriptor* field = nullptr;
  int index = -1;
  std::string path;
};

// float or double.
[[nodiscard]] bool IsReal(const google::protobuf::FieldDescriptor& field);

// Of all that is set. Of the numbers of an array the first two, and the last: a matrix has others
// beside its diagonal.
[[nodiscard]] std::vector<Number> NumbersOf(google::protobuf::Message& message);

// The paths of all numbers that a message of the kind can have.
[[nodiscard]] std::set<std::string> NumberPathsOf(const google::protobuf::Descriptor& descriptor);

// Sets a number to a value. `text` is the value as error messages have it.
struct Extreme {
  std::string text;
  std::function<void(const Number&)> set;
};

// The least and the largest value of the field's type; of reals also the smallest, those that
// overflow when they are squared, and those that are not finite.
[[nodiscard]] std::vector<Extreme> ExtremesOf(const google::protobuf::FieldDescriptor& field);

// The first number of the message that is not finite, with its path; empty: all are, but those of
// which the contract says that they may be infinite.
[[nodiscard]] std::string NotFiniteIn(const google::protobuf::Message& message);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_RPC_MESSAGE_NUMBERS_H_
