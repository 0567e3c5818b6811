// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/machine.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nvs::sim {
namespace {

tl::unexpected<std::string> failed(const std::string& what) {
  return tl::make_unexpected(what + ": " + std::strerror(errno));
}

ProcessIdentity identity_of(const ProcessSlot& slot) {
  return {slot.pid.load(std::memory_order_acquire), slot.start_time};
}

void clear_slot(ProcessSlot& slot) {
  for (ProcessGpu& gpu : slot.gpu) {
    gpu.bytes.store(0);
    gpu.contexts.store(0);
    gpu.managed_blocks.store(0);
    gpu.busy_ns.store(0);
  }
  slot.pid.store(0, std::memory_order_release);
}

std::uint64_t word_of(const SlotSet& set, unsigned word) {
  const SlotSet low{~std::uint64_t{0}};
  return ((set >> (word * 64)) & low).to_ullong();
}

// The file may have been unlinked by the last process of an earlier life between our open and our
// lock.
bool is_current(int fd, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// Every member holds a read lock on the first byte, which the kernel lifts when it dies. So even a
// build that lays the segment out otherwise knows whether somebody is in it.
struct flock member_lock(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return lock;
}

void join_members(int fd) {
  struct flock lock = member_lock(F_RDLCK);
  ::fcntl(fd, F_OFD_SETLK, &lock);
}

bool has_members(int fd) {
  struct flock lock = member_lock(F_WRLCK);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace

tl::expected<std::unique_ptr<Machine>, std::string> Machine::attach(const Settings& settings) {
  std::unique_ptr<Machine> machine{new Machine};
  auto opened = machine->open_segment(settings);
  if (!opened) return tl::make_unexpected(opened.error());
  auto taken = machine->take_slot();
  if (taken) join_members(machine->file_.get());
  ::flock(machine->file_.get(), LOCK_UN);
  if (!taken) return tl::make_unexpected(taken.error());
  machine->attached_ = true;
  return machine;
}

Machine::~Machine() {
  detach();
  if (segment_ != nullptr) ::munmap(segment_, sizeof(Segment));
}

// Returns with the file locked, so that nobody else attaches or leaves meanwhile.
tl::expected<void, std::string> Machine::open_segment(const Settings& settings) {
  path_ = "/dev/shm/nvshare-sim-" + std::to_string(::getuid()) + "-" + settings.NVSHARE_SIM_MACHINE;
  for (;;) {
    file_ = UniqueFd{::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    if (!file_) return failed("cannot open the simulated machine " + path_);
    while (::flock(file_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return failed("cannot lock " + path_);
    }
    if (is_current(file_.get(), path_)) break;
  }
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return failed("cannot stat " + path_);
  const bool sized = static_cast<std::size_t>(info.st_size) == sizeof(Segment);
  if (!sized && has_members(file_.get())) {
    return tl::make_unexpected(path_ + " is in use by another version of the simulator; end its " +
                               "processes, or name another machine with NVSHARE_SIM_MACHINE");
  }
  if (!sized && ::ftruncate(file_.get(), 0) != 0) return failed("cannot reset " + path_);
  if (!sized && ::ftruncate(file_.get(), sizeof(Segment)) != 0)
    return failed("cannot size " + path_);
  void* mapped =
      ::mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (mapped == MAP_FAILED) return failed("cannot map " + path_);
  segment_ = static_cast<Segment*>(mapped);

  const bool valid = sized && segment_->magic.load() == Segment::kMagic &&
                     segment_->size == sizeof(Segment) && anyone_alive();
  if (!valid) {
    new (mapped) Segment;
    segment_->size = sizeof(Segment);
    std::snprintf(segment_->preset.data(), segment_->preset.size(), "%s",
                  settings.NVSHARE_SIM_PRESET.c_str());
    segment_->gpus = settings.NVSHARE_SIM_GPUS;
    segment_->scale = settings.NVSHARE_SIM_SCALE;
    segment_->time_factor = settings.NVSHARE_SIM_TIME;
    segment_->magic.store(Segment::kMagic);
  }
  model_ = find_model(segment_->preset.data());
  if (model_ == nullptr) return tl::make_unexpected(path_ + " is damaged; remove it");
  return {};
}

bool Machine::anyone_alive() {
  for (ProcessSlot& slot : segment_->processes) {
    if (slot.pid.load() != 0 && liveness(identity_of(slot)) != Liveness::dead) return true;
  }
  return false;
}

tl::expected<void, std::string> Machine::take_slot() {
  const ProcessIdentity me = own_identity();
  // Held throughout: a slot is free only after what others held under its number is cleared too.
  const std::lock_guard guard{segment_->ledger_lock};
  reclaim_locked();
  for (unsigned i = 0; i < kProcessesMax; ++i) {
    ProcessSlot& slot = segment_->processes[i];
    if (slot.pid.load() != 0) continue;
    clear_slot(slot);  // a worker of its last owner may have counted on after that one left
    slot.start_time = me.start_time;
    if (std::FILE* comm = std::fopen("/proc/self/comm", "re"); comm != nullptr) {
      const std::size_t size = std::fread(slot.name.data(), 1, slot.name.size() - 1, comm);
      slot.name[size > 0 ? size - 1 : 0] = '\0';
      std::fclose(comm);
    }
    slot.pid.store(me.pid, std::memory_order_release);
    slot_ = i;
    return {};
  }
  return tl::make_unexpected("the simulated machine has no place for one more process; at most " +
                             std::to_string(kProcessesMax) + " can share it");
}

void Machine::detach() {
  if (!attached_) return;
  while (::flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  {
    const std::lock_guard guard{segment_->ledger_lock};
    attached_ = false;
    for (SharedAllocation& entry : segment_->shared) {
      if (entry.id.load() != 0) set_holder(entry, false);
    }
    SlotSet others = live_slots();
    others.reset(slot_);
    recount_frames_locked(others);
    clear_slot(own_slot());
    reclaim_locked();
  }
  if (!anyone_alive()) ::unlink(path_.c_str());
  ::flock(file_.get(), LOCK_UN);
}

void Machine::reclaim() {
  const std::lock_guard guard{segment_->ledger_lock};
  reclaim_locked();
}

SlotSet Machine::live_slots() {
  SlotSet live;
  for (unsigned i = 0; i < kProcessesMax; ++i) {
    const ProcessSlot& slot = segment_->processes[i];
    live[i] = slot.pid.load() != 0 && liveness(identity_of(slot)) != Liveness::dead;
  }
  return live;
}

// The slots of the dead go last: as long as they are there, what is left of this is found.
void Machine::reclaim_locked() {
  const SlotSet alive = live_slots();
  bool dead = false;
  for (unsigned i = 0; i < kProcessesMax; ++i) {
    dead |= segment_->processes[i].pid.load() != 0 && !alive[i];
  }
  if (dead) recount_frames_locked(alive);
  for (SharedAllocation& entry : segment_->shared) {
    if (entry.id.load() == 0) continue;
    bool held = false;
    for (unsigned word = 0; word < entry.holders.size(); ++word) {
      const std::uint64_t live = word_of(alive, word);
      held |= (entry.holders[word].fetch_and(live) & live) != 0;
    }
    if (!held) {
      entry.bytes.store(0);
      entry.id.store(0);
    }
  }
  for (unsigned i = 0; i < kProcessesMax; ++i) {
    ProcessSlot& slot = segment_->processes[i];
    if (slot.pid.load() != 0 && !alive[i]) clear_slot(slot);
  }
}

std::uint64_t Machine::used_locked(unsigned gpu_index) {
  std::uint64_t sum = 0;
  for (const ProcessSlot& slot : segment_->processes) {
    if (slot.pid.load(std::memory_order_relaxed) == 0) continue;
    const ProcessGpu& here = slot.gpu[gpu_index];
    sum += here.bytes.load() + here.managed_blocks.load() * managed_block_bytes();
  }
  for (const SharedAllocation& entry : segment_->shared) {
    if (entry.id.load(std::memory_order_relaxed) != 0 && entry.gpu == gpu_index) {
      sum += entry.bytes.load();
    }
  }
  return sum;
}

}  // namespace nvs::sim
