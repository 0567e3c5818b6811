// SPDX-License-Identifier: Apache-2.0
// How much of a GPU's memory clients can share, and what they are shown of it. From the size of the
// GPU goes what nobody accounts for: contexts, modules, and programs that go round nvshare. It is
// what the driver says is used, less what clients say that they have.
#pragma once

#include <cstdint>
#include <optional>

namespace nvs::daemon {

class Capacity {
 public:
  // `size`: what the GPU has, or is to be treated as having; 0: not known.
  explicit Capacity(std::uint64_t size) : size_(size) {}

  struct Poll {
    std::uint64_t used = 0;       // of the GPU, by anybody
    std::uint64_t claimed = 0;    // of that, by clients
    std::uint64_t early = 0;      // of what is claimed: may not be used yet
    std::uint64_t processes = 0;  // clients with memory there, and so with a context
    std::uint64_t moves = 0;      // another number whenever `claimed` has changed
  };
  // Counts only if nothing has changed since the poll before: else `used` and `claimed` are of
  // different moments. Clients tell up to a second late what they took, and whoever is refused
  // memory for that is harmed: that others have more must have been so for longer. True: bytes()
  // has changed.
  bool poll(const Poll& poll);

  // For all clients together; 0: not known, and there is no limit.
  std::uint64_t bytes() const;
  std::uint64_t size() const { return size_; }
  // What nobody accounts for.
  std::uint64_t other() const { return other_; }
  // What a client that comes now is shown as the size of the GPU: some is kept for contexts to
  // come, so that whoever takes all that it sees still fits when others arrive. 0: not known.
  std::uint64_t visible() const;

 private:
  std::uint64_t context_estimate() const;

  std::uint64_t size_;
  std::uint64_t other_ = 0;
  std::optional<std::uint64_t> context_;  // the largest that was measured
  std::optional<Poll> last_;
  int still_ = 0;  // polls in a row that were like the one before
};

// What clients have and want of a GPU, and the most that could ever be held for them.
struct Demand {
  std::uint64_t allocated = 0;               // by all
  std::uint64_t asked = 0;                   // by threads that wait
  std::uint64_t places = 0;                  // on the GPU and in host memory
  std::uint64_t on_gpu = ~std::uint64_t{0};  // what one of them could have at a time
  bool is_crowded() const;
};
// What a client may allocate in all: `total` is what it was shown, `own` what it has. An allocation
// that could never be served is refused, and one that only has to wait is not.
std::uint64_t limit_of(const Demand& demand, std::uint64_t total, std::uint64_t own);
// Whether it is worth telling the client, who was told `before`.
bool is_news(std::uint64_t before, std::uint64_t limit, std::uint64_t total);

}  // namespace nvs::daemon
