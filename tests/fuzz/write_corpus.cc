// SPDX-License-Identifier: Apache-2.0
//
// fuzz_corpus FOLDER TO: writes the seeds of a corpus as the bytes that they stand for, which is
// what libFuzzer reads.

#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/corpus.h"

int main(int argc, char** argv) {
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
