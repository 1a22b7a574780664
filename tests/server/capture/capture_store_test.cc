// SPDX-License-Identifier: Apache-2.0

#include "server/capture/capture_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr int64_t kSecondNs = 1'000'000'000;

class CaptureStoreTest : public ::testing::Test {
 protected:
  void Open(const std::string& prefix = "c1") {
    store_.reset();
    CaptureStore::Files files;
    files.unix_ns = [this] { return now_ns_; };
    files.write = [this](const std::string& path, absl::string_view bytes) {
      return disk_.ok() ? WriteCaptureFile(path, bytes) : disk_;
    };
    auto store = CaptureStore::Open(Folder(), prefix, limits_, metrics_.captures, std::move(files));
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  [[nodiscard]] std::string Folder() const { return scratch_.Path("captures"); }

  absl::Status Add(const std::string& map = "town", size_t bytes = 1000) {
    v1::Capture capture;
    now_ns_ += kSecondNs;
    capture.mutable_info()->set_captured_at_ns(now_ns_);
    capture.mutable_info()->set_map(map);
    capture.mutable_request()->mutable_scan()->add_clouds()->mutable_cloud()->set_data(
        std::string(bytes, 'p'));
    return store_->Add(std::move(capture));
  }

  [[nodiscard]] std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    for (const v1::CaptureInfo& info : store_->List(
             {}, [](const auto&) { return true; }, 1000)) {
      ids.push_back(info.id());
    }
    return ids;
  }
  [[nodiscard]] std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(Folder())) {
      names.insert(entry.path().filename().string());
    }
    names.erase("lock");
    return names;
  }

  ScratchDir scratch_;
  Metrics metrics_;
  CaptureStore::Limits limits_{1 << 20, 1 << 20, 3600.0, 100};
  int64_t now_ns_ = 1000 * kSecondNs;
  absl::Status disk_;
  std::unique_ptr<CaptureStore> store_;
};

TEST_F(CaptureStoreTest, ListsNewestFirstAndReadsWhatWasAdded) {
  Open();
  for (const char* map : {"town", "yard", "town"}) ASSERT_TRUE(Add(map).ok());
  EXPECT_THAT(Ids(), ElementsAre("c1-3", "c1-2", "c1-1"));
  const auto capture = store_->Read("c1-2").value();
  EXPECT_EQ(capture.info().map(), "yard");
  EXPECT_EQ(capture.request().scan().clouds(0).cloud().data(), std::string(1000, 'p'));
  EXPECT_EQ(capture.info().bytes(), fs::file_size(Folder() + "/c1-2.capture"));
  EXPECT_EQ(metrics_.captures.written.Value(), 3.0);

  const auto of_town = [](const v1::CaptureInfo& info) { return info.map() == "town"; };
  const auto first = store_->List({}, of_town, 1);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].id(), "c1-3");
  const auto next =
      store_->List(CaptureStore::Key(first[0].captured_at_ns(), first[0].id()), of_town, 5);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].id(), "c1-1");
}

TEST_F(CaptureStoreTest, NoIdLeadsOutOfTheFolder) {
  Open();
  ASSERT_TRUE(Add().ok());
  scratch_.Write("secret.capture", "secret");
  for (const char* id : {"../secret", "c1-1.capture", "c1-1/", "", "/etc/passwd", "lock"}) {
    EXPECT_TRUE(absl::IsNotFound(store_->Read(id).status())) << id;
  }
}

TEST_F(CaptureStoreTest, OnlyItsUserMayReadTheFiles) {
  Open();
  ASSERT_TRUE(Add().ok());
  struct stat facts {};
  ASSERT_EQ(::stat((Folder() + "/c1-1.capture").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(CaptureStoreTest, TheOldestMakeRoomForNewOnes) {
  limits_.max_bytes = 3500;
  Open();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Add().ok());
  EXPECT_THAT(Ids(), ElementsAre("c1-5", "c1-4", "c1-3"));
  EXPECT_THAT(Files(), UnorderedElementsAre("c1-3.capture", "c1-4.capture", "c1-5.capture"));
  EXPECT_EQ(metrics_.captures.deleted_room.Value(), 2.0);
  EXPECT_TRUE(absl::IsNotFound(store_->Read("c1-1").status()));

  limits_.max_captures = 2;
  store_->SetLimits(limits_);
  EXPECT_THAT(Ids(), ElementsAre("c1-5", "c1-4"));
  ASSERT_TRUE(Add().ok());
  EXPECT_THAT(Ids(), ElementsAre("c1-6", "c1-5"));
}

TEST_F(CaptureStoreTest, RefusesWhatHasMoreBytesThanItMayAndKeepsTheRest) {
  limits_.max_capture_bytes = 2000;
  Open();
  ASSERT_TRUE(Add().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Add("town", 3000)));
  EXPECT_EQ(metrics_.captures.too_large.Value(), 1.0);
  EXPECT_THAT(Ids(), ElementsAre("c1-1"));
}

TEST_F(CaptureStoreTest, DeletesWhatIsTooOld) {
  limits_.max_age_s = 60.0;
  Open();
  ASSERT_TRUE(Add().ok());
  now_ns_ += 50 * kSecondNs;
  ASSERT_TRUE(Add().ok());
  store_->DeleteExpired();
  EXPECT_THAT(Ids(), ElementsAre("c1-2", "c1-1"));
  now_ns_ += 30 * kSecondNs;
  store_->DeleteExpired();
  EXPECT_THAT(Ids(), ElementsAre("c1-2"));
  EXPECT_EQ(metrics_.captures.deleted_age.Value(), 1.0);
  now_ns_ += 100 * kSecondNs;
  Open();  // a restart deletes them too
  EXPECT_THAT(Ids(), ElementsAre());
  EXPECT_THAT(Files(), UnorderedElementsAre());
}

TEST_F(CaptureStoreTest, ARestartTakesTheFolderOverAndNoIdComesTwice) {
  Open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Add().ok());
  Open("c2");
  EXPECT_THAT(Ids(), ElementsAre("c1-3", "c1-2", "c1-1"));
  ASSERT_TRUE(Add().ok());
  EXPECT_THAT(Ids(), ElementsAre("c2-1", "c1-3", "c1-2", "c1-1"));
  Open("c1");  // as after a clock that was set back
  ASSERT_TRUE(Add().ok());
  EXPECT_THAT(Ids(), ElementsAre("c1-4", "c2-1", "c1-3", "c1-2", "c1-1"));
  EXPECT_TRUE(store_->Read("c1-2").ok());
}

TEST_F(CaptureStoreTest, LeavesOutWhatIsDamagedOrForeignAndDeletesWhatACrashLeft) {
  Open();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Add().ok());
  store_.reset();
  const std::string folder = Folder() + "/";
  fs::resize_file(folder + "c1-2.capture", 500);
  fs::rename(folder + "c1-3.capture", folder + "c9-9.capture");
  scratch_.Write("captures/notes.txt", "of the operator");
  scratch_.Write("captures/empty.capture", "");
  scratch_.Write("captures/c1-7.capture.1234-5.part", "half");
  scratch_.Write("captures/c1-8.capture.tmp", "half, of an earlier version");
  fs::create_directory(folder + "folder.capture");
  fs::create_symlink("c1-1.capture", folder + "link.capture");
  ASSERT_EQ(::mkfifo((folder + "pipe.capture").c_str(), 0600), 0);
  Open("c2");
  EXPECT_THAT(Ids(), ElementsAre("c1-4", "c1-1"));
  EXPECT_THAT(Files(), UnorderedElementsAre("c1-1.capture", "c1-2.capture", "c1-4.capture",
                                            "c9-9.capture", "empty.capture", "folder.capture",
                                            "link.capture", "notes.txt", "pipe.capture"));
}

TEST_F(CaptureStoreTest, ACaptureThatIsDamagedLaterIsDataLoss) {
  Open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Add().ok());
  fs::resize_file(Folder() + "/c1-1.capture", 800);
  fs::remove(Folder() + "/c1-2.capture");
  fs::copy_file(Folder() + "/c1-3.capture", Folder() + "/c1-2.capture");
  EXPECT_TRUE(absl::IsDataLoss(store_->Read("c1-1").status()));
  EXPECT_TRUE(absl::IsDataLoss(store_->Read("c1-2").status()));
  EXPECT_TRUE(store_->Read("c1-3").ok());
  fs::remove(Folder() + "/c1-3.capture");
  EXPECT_TRUE(absl::IsNotFound(store_->Read("c1-3").status()));
}

TEST_F(CaptureStoreTest, AFullDiskFailsTheCaptureAloneAndLeavesNoFile) {
  Open();
  ASSERT_TRUE(Add().ok());
  disk_ = absl::ResourceExhaustedError("no space left on device");
  EXPECT_EQ(Add(), disk_);
  EXPECT_EQ(metrics_.captures.failed.Value(), 1.0);
  disk_ = absl::OkStatus();
  ASSERT_TRUE(Add().ok());
  EXPECT_THAT(Ids(), ElementsAre("c1-3", "c1-1"));
  EXPECT_THAT(Files(), UnorderedElementsAre("c1-1.capture", "c1-3.capture"));
}

TEST_F(CaptureStoreTest, ASecondProcessIsRefusedTheFolder) {
  Open();
  const auto second = CaptureStore::Open(Folder(), "c2", limits_, metrics_.captures, {});
  EXPECT_TRUE(absl::IsAlreadyExists(second.status())) << second.status();
}

TEST_F(CaptureStoreTest, AFolderThatCannotBeMadeIsAnError) {
  scratch_.Write("file", "");
  const auto store =
      CaptureStore::Open(scratch_.Path("file") + "/x", "c1", limits_, metrics_.captures, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
}

}  // namespace
}  // namespace voxloc::server
