// SPDX-License-Identifier: Apache-2.0
//
// PackedJob: what an engine makes of an alignment job's clouds and groups before the job goes to a
// device. Engine::Pack makes it in any thread, so that the thread that calls Align for a whole
// batch does not have to make it for one scan after another. Immutable.

#ifndef VOXLOC_CORE_ENGINE_PACKED_JOB_H_
#define VOXLOC_CORE_ENGINE_PACKED_JOB_H_

namespace voxloc {

class PackedJob {
 public:
  virtual ~PackedJob() = default;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_PACKED_JOB_H_
