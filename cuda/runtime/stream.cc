// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

absl::StatusOr<Stream> Stream::Create(std::shared_ptr<Device> device, Priority priority) {
  int least = 0;
  int greatest = 0;
  VOXLOC_CUDA_TRY(*device, cudaDeviceGetStreamPriorityRange(&least, &greatest),
                  "asking for stream priorities");
  Stream stream;
  VOXLOC_CUDA_TRY(*device,
                  cudaStreamCreateWithPriority(&stream.stream_, cudaStreamNonBlocking,
                                               priority == Priority::kHigh ? greatest : least),
                  "creating a stream");
  stream.device_ = std::move(device);
  return stream;
}

Stream::~Stream() {
  if (stream_ == nullptr || !device_->MakeCurrent().ok()) return;
  (void)device_->Check(cudaStreamDestroy(stream_), "destroying a stream");
}

absl::Status Stream::Synchronize() const {
  return device_->Check(cudaStreamSynchronize(stream_), "waiting for a stream");
}

bool Stream::IsDone() const noexcept {
  if (cudaStreamQuery(stream_) != cudaErrorNotReady) return true;
  (void)cudaGetLastError();  // clears cudaErrorNotReady
  return false;
}

void Stream::Drain() const noexcept {
  if (stream_ == nullptr) return;
  if (cudaStreamSynchronize(stream_) != cudaSuccess) (void)cudaGetLastError();
}

absl::StatusOr<Event> Event::Create(std::shared_ptr<Device> device) {
  Event event;
  VOXLOC_CUDA_TRY(*device, cudaEventCreate(&event.event_), "creating an event");
  event.device_ = std::move(device);
  return event;
}

Event::~Event() {
  if (event_ == nullptr || !device_->MakeCurrent().ok()) return;
  (void)device_->Check(cudaEventDestroy(event_), "destroying an event");
}

absl::Status Event::Record(const Stream& stream) const {
  return device_->Check(cudaEventRecord(event_, stream.get()), "recording an event");
}

absl::Status Event::Synchronize() const {
  return device_->Check(cudaEventSynchronize(event_), "waiting for an event");
}

absl::StatusOr<double> Event::MillisecondsSince(const Event& start) const {
  float milliseconds = 0.0F;
  VOXLOC_CUDA_TRY(*device_, cudaEventElapsedTime(&milliseconds, start.event_, event_),
                  "reading the time between events");
  return static_cast<double>(milliseconds);
}

}  // namespace voxloc::cuda
