// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/option.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/output/message_text.h"
#include "clients/cpp/messages.h"
#include "clients/dataset/perturbation.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"
#include "core/text/names.h"

namespace voxloc::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// From the message down to the value.
using FieldPath = std::vector<const FieldDescriptor*>;

struct KeyedField {
  std::string key;
  FieldPath path;
};

void CollectFields(const Descriptor& message, const std::string& prefix, const FieldPath& above,
                   std::vector<KeyedField>* fields) {
  for (int f = 0; f < message.field_count(); ++f) {
    const FieldDescriptor& field = *message.field(f);
    if (field.is_repeated() || field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) continue;
    const std::string key = absl::StrCat(prefix, std::string(field.name()));
    FieldPath path = above;
    path.push_back(&field);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      fields->push_back({key, path});
    } else if (IsWrapper(*field.message_type())) {
      path.push_back(field.message_type()->field(0));
      fields->push_back({key, path});
    } else {
      CollectFields(*field.message_type(), key + ".", path, fields);
    }
  }
}

std::vector<KeyedField> FieldsOf(const Descriptor& message) {
  std::vector<KeyedField> fields;
  CollectFields(message, "", {}, &fields);
  return fields;
}

// Empty: the value was set. Otherwise what it must be.
std::string SetValue(const std::string& text, const FieldDescriptor& field, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text != "true" && text != "false") return "true or false";
      reflection.SetBool(message, &field, text == "true");
      return "";
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double value = 0.0;
      if (!absl::SimpleAtod(text, &value)) return "a number";
      reflection.SetDouble(message, &field, value);
      return "";
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      uint32_t value = 0;
      if (!absl::SimpleAtoi(text, &value)) return "a whole number, at least 0";
      reflection.SetUInt32(message, &field, value);
      return "";
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const google::protobuf::EnumDescriptor& type = *field.enum_type();
      std::vector<std::string> words;
      // The first one is UNSPECIFIED: the server's choice, as without the key.
      for (int v = 1; v < type.value_count(); ++v) {
        words.push_back(EnumWord(*type.value(v)));
        if (words.back() != text) continue;
        reflection.SetEnum(message, &field, type.value(v));
        return "";
      }
      return absl::StrCat("one of ", absl::StrJoin(words, ", "));
    }
    default:
      return "set in another way";
  }
}

}  // namespace

absl::StatusOr<std::vector<double>> ParseNumbers(absl::string_view text, absl::string_view names,
                                                 size_t min_count, size_t max_count) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  if (parts.size() < min_count || parts.size() > max_count) {
    const std::string count = min_count == max_count ? absl::StrCat(min_count)
                                                     : absl::StrCat(min_count, " to ", max_count);
    return absl::InvalidArgumentError(absl::StrCat("the value must be ", count, " numbers, ", names,
                                                   " in metres and degrees (got ", parts.size(),
                                                   ": '", text, "')"));
  }
  std::vector<double> values;
  for (const absl::string_view given : parts) {
    const absl::string_view part = absl::StripAsciiWhitespace(given);
    double value = 0.0;
    if (!absl::SimpleAtod(part, &value) || !std::isfinite(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", part, "' in '", text, "' is not a finite number"));
    }
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<std::array<double, 6>> ParseSixNumbers(absl::string_view text,
                                                      absl::string_view names) {
  VOXLOC_ASSIGN_OR_RETURN(const auto numbers, ParseNumbers(text, names, 6, 6));
  std::array<double, 6> values{};
  std::copy(numbers.begin(), numbers.end(), values.begin());
  return values;
}

absl::StatusOr<Pose> ParsePoseText(absl::string_view text) {
  VOXLOC_ASSIGN_OR_RETURN(const auto n, ParseSixNumbers(text, "X,Y,Z,ROLL,PITCH,YAW"));
  return Pose{Eigen::Vector3d(n[0], n[1], n[2]),
              RotationFromRosAngles(n[3] / kDegreesPerRadian, n[4] / kDegreesPerRadian,
                                    n[5] / kDegreesPerRadian)};
}

CLI::Option* AddNumbersFlag(CLI::App* command, const std::string& name, const std::string& names,
                            size_t min_count, size_t max_count, const std::string& description,
                            std::string* value) {
  CLI::Option* option = command->add_option(name, *value, description);
  option->type_name(names);
  option->check([names, min_count, max_count](const std::string& text) {
    return std::string(ParseNumbers(text, names, min_count, max_count).status().message());
  });
  if (!value->empty()) option->capture_default_str();
  return option;
}

CLI::Option* AddPoseFlag(CLI::App* command, const std::string& name, const std::string& description,
                         std::string* value) {
  return AddNumbersFlag(command, name, "X,Y,Z,ROLL,PITCH,YAW", 6, 6, description, value);
}

constexpr char kBoxNames[] = "X0,Y0,Z0,X1,Y1,Z1";

CLI::Option* AddBoxFlag(CLI::App* command, const std::string& name, const std::string& description,
                        std::string* value) {
  return AddNumbersFlag(command, name, kBoxNames, 6, 6, description, value);
}

absl::Status ParseBox(absl::string_view text, v1::Box* box) {
  VOXLOC_ASSIGN_OR_RETURN(const auto n, ParseSixNumbers(text, kBoxNames));
  client::EncodeVector({n[0], n[1], n[2]}, box->mutable_min());
  client::EncodeVector({n[3], n[4], n[5]}, box->mutable_max());
  return absl::OkStatus();
}

void AddPerturbFlag(CLI::App* command, std::string* value) {
  AddOption(command, "--perturb", *value, "DX,DY,DZ,DROLL,DPITCH,DYAW",
            "Move each guess by metres along the map's axes and degrees about them")
      ->check([](const std::string& text) {
        return std::string(ParsePerturbation(text).status().message());
      });
}

CLI::Option* AddCalibrationFlag(CLI::App* command, std::string* file) {
  return AddOption(command, "--calib", *file, "FILE",
                   "Take the poses to be those of KITTI's left camera, and move them to the LiDAR "
                   "by this calibration (calib.txt)");
}

void AddPoseFormatFlag(CLI::App* command, const std::string& name, const std::string& description,
                       std::string* format) {
  command->add_option(name, *format, description)
      ->check(CLI::IsMember({"kitti", "tum"}))
      ->capture_default_str();
}

std::vector<std::string> FieldKeys(const Descriptor& message) {
  std::vector<std::string> keys;
  for (const KeyedField& field : FieldsOf(message)) keys.push_back(field.key);
  return keys;
}

absl::Status SetField(absl::string_view assignment, Message* message) {
  const size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("must be KEY=VALUE (got ", assignment, ")"));
  }
  const std::string key(assignment.substr(0, equals));
  const std::string text(assignment.substr(equals + 1));
  for (const KeyedField& field : FieldsOf(*message->GetDescriptor())) {
    if (field.key != key) continue;
    const std::unique_ptr<Message> changed(message->New());
    changed->CopyFrom(*message);
    Message* within = changed.get();
    for (size_t level = 0; level + 1 < field.path.size(); ++level) {
      within = within->GetReflection()->MutableMessage(within, field.path[level]);
    }
    const std::string wanted = SetValue(text, *field.path.back(), within);
    if (wanted.empty()) {
      message->CopyFrom(*changed);
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(key, " must be ", wanted, " (got ", text, ")"));
  }
  const std::vector<std::string> keys = FieldKeys(*message->GetDescriptor());
  const std::string nearest = NearestName(key, keys);
  return absl::InvalidArgumentError(
      absl::StrCat("has no key ", key,
                   nearest.empty() ? absl::StrCat("; there are ", absl::StrJoin(keys, ", "))
                                   : absl::StrCat("; did you mean ", nearest, "?")));
}

CLI::Option* AddFieldFlag(CLI::App* command, const std::string& name,
                          const std::string& description,
                          const google::protobuf::Message& prototype,
                          std::vector<std::string>* values) {
  const std::string keys = absl::StrJoin(FieldKeys(*prototype.GetDescriptor()), ", ");
  return AddOption(command, name, *values, "KEY=VALUE",
                   absl::StrCat(description, "; can be repeated. KEY is ", keys))
      ->allow_extra_args(false)
      ->check([&prototype](const std::string& text) {
        const std::unique_ptr<google::protobuf::Message> scratch(prototype.New());
        return std::string(SetField(text, scratch.get()).message());
      });
}

void SetFields(const std::vector<std::string>& values, google::protobuf::Message* message) {
  for (const std::string& value : values) SetField(value, message).IgnoreError();
}

}  // namespace voxloc::cli
