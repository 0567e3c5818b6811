// SPDX-License-Identifier: Apache-2.0
#include "cli/mapped_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/unique_fd.h"

namespace nvs::cli {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "open"));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return tl::unexpected(Error::from_errno(errno, "fstat"));
  if (!S_ISREG(status.st_mode)) {
    return tl::unexpected(Error{Errc::kInvalidInput, 0, "not a regular file"});
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile({});  // a mapping of nothing is refused
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) return tl::unexpected(Error::from_errno(errno, "mmap"));
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace nvs::cli
