// SPDX-License-Identifier: Apache-2.0
//
// fuzz_corpus FOLDER TO: writes the seeds of a corpus as the bytes that they stand for, which is
// what libFuzzer reads.

#include <google/protobuf/generated_message_util.h>
#include <google/protobuf/message.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/corpus.h"
#include "voxloc/v1/localization_service.pb.h"
#include "voxloc/v1/map_service.pb.h"

int main(int argc, char** argv) {
  // So that the linker keeps the types that seeds name.
  google::protobuf::LinkMessageReflection<voxloc::v1::AlignScanRequest>();
  google::protobuf::LinkMessageReflection<voxloc::v1::UpdateMapTilesRequest>();
  if (argc != 3) {
    std::cerr << "usage: fuzz_corpus FOLDER TO\n";
    return 2;
  }
  const auto seeds = voxloc::ReadCorpus(argv[1]);
  if (!seeds.ok()) {
    std::cerr << seeds.status().message() << "\n";
    return 1;
  }
  const std::filesystem::path to = argv[2];
  std::error_code error;
  std::filesystem::create_directories(to, error);
  for (const voxloc::FuzzSeed& seed : *seeds) {
    std::ofstream file(to / seed.name, std::ios::binary);
    file << seed.bytes;
    file.close();
    if (!file) {
      std::cerr << (to / seed.name).string() << ": cannot be written\n";
      return 1;
    }
  }
  return 0;
}
