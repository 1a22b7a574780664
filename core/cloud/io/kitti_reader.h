// SPDX-License-Identifier: Apache-2.0
//
// .bin files without a header: nothing but records of float32, of which the first are x y z and, in
// KITTI's and most others', intensity.

#ifndef VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_
#define VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/point_data.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// `name` stands for the file in messages. `record_floats`: as CloudReadOptions has it.
[[nodiscard]] absl::StatusOr<PointCloud> ParseKittiBin(absl::string_view bytes,
                                                       absl::string_view name, size_t max_points,
                                                       size_t record_floats);

// The number of floats per point in a .bin file, which has no header: KITTI writes 4 (x y z
// intensity), nuScenes 5, others 6. `requested`: the number if the caller knows it, otherwise 0.
// `name`: the file's; .pcd.bin (nuScenes) means 5, and .bin means 4 unless the values contradict
// it: with the right record length, a value resembles the next point's value in the same column;
// with a wrong one it is compared with another column. InvalidArgument: the size fits no record, or
// the detection is ambiguous; the message names the flag --record-floats. Or Read's error.
[[nodiscard]] absl::StatusOr<RecordFloats> RecordFloatsOfFile(const RandomAccessFile& file,
                                                              absl::string_view name,
                                                              size_t requested);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_
