// SPDX-License-Identifier: Apache-2.0
// What `top` knows and what its keys do, without a terminal or a daemon: both sides are told what
// happened, and say what to do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/ctl/node_status.h"

namespace nvs::cli {

enum class KeyKind { letter, up, down, page_up, page_down, home, end, escape };
struct Key {
  KeyKind kind = KeyKind::letter;
  char letter = 0;

  bool operator==(const Key&) const = default;
};

// The keys in what a terminal sent. Sequences that mean none of them are skipped.
std::vector<Key> keys_of(const std::string& bytes);

enum class TopSort { share, waiting, memory, name, id };
const char* sort_word(TopSort sort);

// One line: a tenant on a GPU.
struct TopRow {
  const TenantStatus* tenant;
  const UseStatus* use;
  double share;  // of the GPU's time since the poll before, 0 to 1
};

class TopState {
 public:
  // The newest status. Shares are differences to an earlier one.
  void update(NodeStatus node);

  // What a key asks of the daemon, as a request line; nothing for those that only change the view.
  std::optional<std::string> press(Key key);

  // A line for the user, until the next key.
  void say(std::string message) { message_ = std::move(message); }

  std::vector<TopRow> rows() const;  // those shown, in order
  std::size_t selected_row() const;  // the number of the selected one in rows()
  double busy_share(std::uint64_t gpu) const;

  const NodeStatus& node() const { return node_; }
  const std::string& message() const { return message_; }
  std::optional<std::uint64_t> gpu() const { return gpu_; }
  TopSort sort() const { return sort_; }
  bool shows_help() const { return help_; }
  bool shows_limits() const { return limits_; }
  bool is_done() const { return done_; }

 private:
  using Use = std::pair<std::uint64_t, std::uint64_t>;  // tenant, GPU

  void learn_shares(const NodeStatus& from);
  void move(std::ptrdiff_t lines);
  void choose_gpu(std::uint64_t index);
  std::optional<std::string> press_letter(char letter);
  std::optional<std::string> pause_or_resume();
  std::optional<std::string> change_priority(int steps);

  NodeStatus node_;
  NodeStatus base_;  // what shares are differences to
  std::map<Use, double> shares_;
  std::map<std::uint64_t, double> busy_;
  std::optional<Use> selected_;
  std::optional<std::uint64_t> gpu_;  // none: all
  TopSort sort_ = TopSort::share;
  std::string message_;
  bool help_ = false;
  bool limits_ = false;  // in place of waits
  bool done_ = false;
};

}  // namespace nvs::cli
