// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/library_install.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "device_plugin/allocate.h"
#include "os/file_text.h"

namespace nvs::plugin {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersions = "lib";
constexpr std::size_t kLibraryBytesMax = std::size_t{64} << 20U;
constexpr mode_t kReadableByAll = 0644;
constexpr mode_t kLibraryMode = 0755;

// FNV-1a: names builds apart, nothing more.
std::string content_name(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : content) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

Result<void> put_if_different(const std::string& path, std::string_view text, mode_t mode) {
  const auto before = os::read_file(path, kLibraryBytesMax);
  if (before && *before == text) return {};
  return write_atomically(path, text, mode);
}

}  // namespace

Result<void> write_atomically(const std::string& path, std::string_view text, unsigned mode) {
  std::string draft = path + ".XXXXXX";
  UniqueFd fd{::mkostemp(draft.data(), O_CLOEXEC)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "a file cannot be made"));
  const auto failed = [&draft](const char* what) {
    const int why = errno;
    ::unlink(draft.c_str());
    return tl::unexpected(Error::from_errno(why, what));
  };
  while (!text.empty()) {
    const ssize_t put = ::write(fd.get(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return failed("a file cannot be written");
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  // A name that survives a power cut must not stand for an empty file.
  if (::fchmod(fd.get(), mode) != 0 || ::fsync(fd.get()) != 0) {
    return failed("a file cannot be finished");
  }
  fd.reset();
  if (::rename(draft.c_str(), path.c_str()) == 0) return {};
  // containerd makes an empty folder of what it is to mount and does not find.
  const bool was_folder = errno == EISDIR && ::rmdir(path.c_str()) == 0;
  if (!was_folder || ::rename(draft.c_str(), path.c_str()) != 0) {
    return failed("a file cannot be renamed");
  }
  return {};
}

Result<InstalledLibrary> install_library(const std::string& source, const std::string& root,
                                         std::string_view version) {
  const std::string content = NVS_TRY(os::read_file(source, kLibraryBytesMax));
  InstalledLibrary installed;
  installed.folder =
      std::string(kVersions) + "/" + std::string(version) + "-" + content_name(content);
  installed.library = installed.folder + "/libnvshare.so";
  installed.preload = installed.folder + "/ld.so.preload";
  std::error_code error;
  fs::create_directories(root + "/" + installed.folder, error);
  if (error) {
    return tl::unexpected(Error::from_errno(error.value(), "the library's folder cannot be made"));
  }
  NVS_TRY(put_if_different(root + "/" + installed.library, content, kLibraryMode));
  NVS_TRY(put_if_different(root + "/" + installed.preload, std::string(kContainerLibrary) + "\n",
                           kReadableByAll));
  return installed;
}

std::vector<std::string> remove_other_versions(const std::string& root,
                                               const InstalledLibrary& kept) {
  std::vector<std::string> removed;
  const std::string kept_name = fs::path(kept.folder).filename().string();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/" + kVersions, error)) {
    if (entry.path().filename() == kept_name || !entry.is_directory(error)) continue;
    removed.push_back(entry.path().filename().string());
  }
  for (const std::string& name : removed) {
    fs::remove_all(root + "/" + kVersions + "/" + name, error);
  }
  return removed;
}

}  // namespace nvs::plugin
