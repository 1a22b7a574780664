// SPDX-License-Identifier: Apache-2.0

#include "server/convert/map_frame.h"

#include <string>
#include <utility>

#include "server/convert/range.h"

namespace voxloc::server {
namespace {

// Projections in use are within a percent of 1.
constexpr double kMinScale = 0.5;
constexpr double kMaxScale = 2.0;

GeoPoint PointFromProto(const v1::GeoPoint& proto) {
  return {proto.latitude_deg(), proto.longitude_deg(), proto.altitude_m()};
}

void PointToProto(const GeoPoint& point, v1::GeoPoint& proto) {
  proto.set_latitude_deg(point.latitude_deg);
  proto.set_longitude_deg(point.longitude_deg);
  proto.set_altitude_m(point.altitude_m);
}

}  // namespace

absl::StatusOr<MapFrame> MapFrameFromProto(const v1::MapFrame& proto) {
  MapFrame frame;
  if (proto.has_projector()) {
    const v1::MapProjector& given = proto.projector();
    auto type = ProjectorTypeFromName(given.projector_type());
    if (!type.ok()) return type.status();
    MapProjector& projector = frame.projector.emplace();
    projector.type = *type;
    projector.vertical_datum = given.vertical_datum();
    projector.mgrs_grid = given.mgrs_grid();
    if (given.has_map_origin()) projector.map_origin = PointFromProto(given.map_origin());
    projector.scale_factor = given.scale_factor();
    absl::Status status = CheckRangeOrZero("frame.projector.scale_factor", projector.scale_factor,
                                           kMinScale, kMaxScale, "the type's own");
    if (!status.ok()) return status;
  }
  if (proto.has_origin()) {
    if (!proto.origin().has_point()) {
      return absl::InvalidArgumentError("frame.origin must have a point");
    }
    absl::Status status = CheckRange("frame.origin.x_axis_yaw_rad", proto.origin().x_axis_yaw_rad(),
                                     -kMaxAngleRad, kMaxAngleRad);
    if (!status.ok()) return status;
    frame.origin =
        Wgs84Origin{PointFromProto(proto.origin().point()), proto.origin().x_axis_yaw_rad()};
  }
  return MakeMapFrame(std::move(frame));
}

void MapFrameToProto(const MapFrame& frame, v1::MapFrame& proto) {
  if (frame.projector.has_value()) {
    v1::MapProjector& projector = *proto.mutable_projector();
    projector.set_projector_type(std::string(NameOf(frame.projector->type)));
    projector.set_vertical_datum(frame.projector->vertical_datum);
    projector.set_mgrs_grid(frame.projector->mgrs_grid);
    if (frame.projector->map_origin.has_value()) {
      PointToProto(*frame.projector->map_origin, *projector.mutable_map_origin());
    }
    projector.set_scale_factor(frame.projector->scale_factor);
  }
  if (frame.origin.has_value()) {
    PointToProto(frame.origin->point, *proto.mutable_origin()->mutable_point());
    proto.mutable_origin()->set_x_axis_yaw_rad(frame.origin->x_axis_yaw_rad);
  }
}

}  // namespace voxloc::server
