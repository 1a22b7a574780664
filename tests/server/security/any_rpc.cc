// SPDX-License-Identifier: Apache-2.0

#include "tests/server/security/any_rpc.h"

#include "absl/strings/str_cat.h"
#include "voxloc/v1/localization_service.pb.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

std::vector<const google::protobuf::MethodDescriptor*> AllRpcs() {
  std::vector<const google::protobuf::MethodDescriptor*> rpcs;
  const google::protobuf::MethodDescriptor* drain = nullptr;
  for (const char* service : {"LocalizationService", "MapService", "AdminService"}) {
    const auto* const descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            absl::StrCat("voxloc.v1.", service));
    for (int i = 0; i < descriptor->method_count(); ++i) {
      if (descriptor->method(i)->name() == "Drain") {
        drain = descriptor->method(i);
      } else {
        rpcs.push_back(descriptor->method(i));
      }
    }
  }
  rpcs.push_back(drain);
  return rpcs;
}

std::string PathOf(const google::protobuf::MethodDescriptor& rpc) {
  return absl::StrCat(rpc.service()->full_name(), "/", rpc.name());
}

std::unique_ptr<google::protobuf::Message> RequestOf(const google::protobuf::MethodDescriptor& rpc,
                                                     const std::string& map,
                                                     const std::string& vehicle) {
  const auto setup = [&](v1::ScanSetup* scans) {
    scans->set_map(map);
    scans->set_vehicle(vehicle);
  };
  if (rpc.name() == "AlignScans") {
    auto request = std::make_unique<v1::AlignScansRequest>();
    setup(request->mutable_open()->mutable_setup());
    return request;
  }
  if (rpc.name() == "ScorePoses") {
    auto request = std::make_unique<v1::ScorePosesRequest>();
    setup(request->mutable_setup()->mutable_setup());
    return request;
  }
  if (rpc.name() == "UpdateMapTiles") {
    auto request = std::make_unique<v1::UpdateMapTilesRequest>();
    request->mutable_begin()->set_map(map);
    return request;
  }
  std::unique_ptr<google::protobuf::Message> request(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(rpc.input_type())->New());
  if (rpc.name() == "AlignScan") {
    setup(dynamic_cast<v1::AlignScanRequest&>(*request).mutable_setup());
  } else if (rpc.name() == "EstimateInitialPose") {
    setup(dynamic_cast<v1::EstimateInitialPoseRequest&>(*request).mutable_setup());
  } else if (const auto* const field = rpc.input_type()->FindFieldByName("map")) {
    request->GetReflection()->SetString(request.get(), field, map);
  }
  return request;
}

bool IsDenial(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
         status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
}

}  // namespace voxloc::server
