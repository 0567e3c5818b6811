// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/top_state.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/ctl/admin_messages.h"
#include "cli/ctl/text_table.h"

namespace nvs::cli {
namespace {

// Over a shorter time a share would say more about the window of the moment.
constexpr double kShareTime_s = 0.5;
constexpr std::ptrdiff_t kPageLines = 10;
constexpr std::ptrdiff_t kAllLines = 1'000'000;
constexpr std::array<std::string_view, 3> kPrioritySteps = {"low", "normal", "high"};
constexpr char kEscape = '\x1b';

struct Sequence {
  std::string_view bytes;  // after the escape
  KeyKind kind;
};
// In both modes of a terminal's arrow keys.
constexpr Sequence kSequences[] = {
    {"[A", KeyKind::up},   {"OA", KeyKind::up},       {"[B", KeyKind::down},
    {"OB", KeyKind::down}, {"[5~", KeyKind::page_up}, {"[6~", KeyKind::page_down},
    {"[H", KeyKind::home}, {"OH", KeyKind::home},     {"[1~", KeyKind::home},
    {"[F", KeyKind::end},  {"OF", KeyKind::end},      {"[4~", KeyKind::end},
};

// How long an escape sequence is that we do not know: up to its final letter.
std::size_t unknown_sequence(std::string_view rest) {
  if (!rest.starts_with('[') && !rest.starts_with('O')) return 0;
  const auto final =
      std::find_if(rest.begin() + 1, rest.end(), [](char c) { return c >= '@' && c <= '~'; });
  return static_cast<std::size_t>(final - rest.begin()) + (final == rest.end() ? 0 : 1);
}

template <class T>
int compare(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

bool goes_before(const TopRow& a, const TopRow& b, TopSort sort) {
  int order = 0;
  switch (sort) {
    case TopSort::share:
      order = compare(b.share, a.share);
      break;
    case TopSort::waiting:
      order = compare(b.use->waiting_now_s, a.use->waiting_now_s);
      break;
    case TopSort::memory:
      order = compare(b.use->memory_bytes, a.use->memory_bytes);
      break;
    case TopSort::name:
      order = compare(a.tenant->name, b.tenant->name);
      break;
    case TopSort::id:
      break;
  }
  if (order == 0) order = compare(a.tenant->id, b.tenant->id);
  if (order == 0) order = compare(a.use->gpu, b.use->gpu);
  return order < 0;
}

}  // namespace

std::vector<Key> keys_of(const std::string& bytes) {
  std::vector<Key> keys;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const char first = rest.front();
    rest.remove_prefix(1);
    if (first != kEscape) {
      keys.push_back({KeyKind::letter, first});
      continue;
    }
    const auto* const known =
        std::find_if(std::begin(kSequences), std::end(kSequences),
                     [&](const Sequence& row) { return rest.starts_with(row.bytes); });
    if (known != std::end(kSequences)) {
      keys.push_back({known->kind});
      rest.remove_prefix(known->bytes.size());
    } else if (const std::size_t length = unknown_sequence(rest); length > 0) {
      rest.remove_prefix(length);
    } else {
      keys.push_back({KeyKind::escape});
    }
  }
  return keys;
}

const char* sort_word(TopSort sort) {
  constexpr const char* kWords[] = {"share", "waiting", "memory", "name", "id"};
  return kWords[static_cast<std::size_t>(sort)];
}

void TopState::learn_shares(const NodeStatus& from) {
  const double time = node_.uptime_s - from.uptime_s;
  const auto share = [&](double now, double before) {
    return std::clamp((now - before) / time, 0.0, 1.0);
  };
  std::map<Use, double> used;
  for (const TenantStatus& tenant : from.tenants) {
    for (const UseStatus& use : tenant.uses) used[{tenant.id, use.gpu}] = use.used_s;
  }
  shares_.clear();
  for (const TenantStatus& tenant : node_.tenants) {
    for (const UseStatus& use : tenant.uses) {
      const auto before = used.find({tenant.id, use.gpu});
      shares_[{tenant.id, use.gpu}] = share(use.used_s, before == used.end() ? 0 : before->second);
    }
  }
  busy_.clear();
  for (const GpuStatus& gpu : node_.gpus) {
    for (const GpuStatus& before : from.gpus) {
      if (before.index == gpu.index) busy_[gpu.index] = share(gpu.held_s, before.held_s);
    }
  }
}

void TopState::update(NodeStatus node) {
  node_ = std::move(node);
  const double time = node_.uptime_s - base_.uptime_s;
  if (base_.pid != node_.pid || time < 0) {
    // The first one, or another daemon: there is nothing to take a difference to.
    shares_.clear();
    busy_.clear();
    base_ = node_;
  } else if (time >= kShareTime_s) {
    learn_shares(base_);
    base_ = node_;
  }
  // One that went away leaves the mark to the one in its place.
  const std::vector<TopRow> shown = rows();
  if (shown.empty()) {
    selected_.reset();
  } else {
    const TopRow& row = shown[selected_row()];
    selected_ = {row.tenant->id, row.use->gpu};
  }
}

std::vector<TopRow> TopState::rows() const {
  std::vector<TopRow> rows;
  for (const TenantStatus& tenant : node_.tenants) {
    for (const UseStatus& use : tenant.uses) {
      if (gpu_ && use.gpu != *gpu_) continue;
      const auto share = shares_.find({tenant.id, use.gpu});
      rows.push_back({&tenant, &use, share == shares_.end() ? 0 : share->second});
    }
  }
  std::sort(rows.begin(), rows.end(),
            [this](const TopRow& a, const TopRow& b) { return goes_before(a, b, sort_); });
  return rows;
}

std::size_t TopState::selected_row() const {
  const std::vector<TopRow> shown = rows();
  const auto found = std::find_if(shown.begin(), shown.end(), [this](const TopRow& row) {
    return selected_ == Use{row.tenant->id, row.use->gpu};
  });
  return found == shown.end() ? 0 : static_cast<std::size_t>(found - shown.begin());
}

double TopState::busy_share(std::uint64_t gpu) const {
  const auto found = busy_.find(gpu);
  return found == busy_.end() ? 0 : found->second;
}

void TopState::move(std::ptrdiff_t lines) {
  const std::vector<TopRow> shown = rows();
  if (shown.empty()) return;
  const std::ptrdiff_t last = std::ssize(shown) - 1;
  const auto row = static_cast<std::ptrdiff_t>(selected_row());
  const TopRow& target =
      shown[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(row + lines, 0, last))];
  selected_ = {target.tenant->id, target.use->gpu};
}

void TopState::choose_gpu(std::uint64_t index) {
  const bool known = std::any_of(node_.gpus.begin(), node_.gpus.end(),
                                 [&](const GpuStatus& gpu) { return gpu.index == index; });
  if (known) {
    gpu_ = index;
    move(0);
  } else {
    say("there is no GPU " + std::to_string(index));
  }
}

std::optional<std::string> TopState::pause_or_resume() {
  const std::vector<TopRow> shown = rows();
  if (shown.empty()) return std::nullopt;
  const TenantStatus& tenant = *shown[selected_row()].tenant;
  say((tenant.paused ? "resume " : "pause ") + harmless(tenant.name));
  return pause_request(!tenant.paused, std::to_string(tenant.id));
}

std::optional<std::string> TopState::change_priority(int steps) {
  const std::vector<TopRow> shown = rows();
  if (shown.empty()) return std::nullopt;
  const TenantStatus& tenant = *shown[selected_row()].tenant;
  const auto* const now = std::find(kPrioritySteps.begin(), kPrioritySteps.end(), tenant.priority);
  if (now == kPrioritySteps.end()) return std::nullopt;
  const std::ptrdiff_t wanted = (now - kPrioritySteps.begin()) + steps;
  if (wanted < 0 || wanted >= std::ssize(kPrioritySteps)) {
    say(harmless(tenant.name) + " has priority " + tenant.priority + " already");
    return std::nullopt;
  }
  const std::string_view priority = kPrioritySteps[static_cast<std::size_t>(wanted)];
  say("priority " + std::string(priority) + " for " + harmless(tenant.name));
  return priority_request(priority, std::to_string(tenant.id));
}

std::optional<std::string> TopState::press_letter(char letter) {
  switch (letter) {
    case 'q':
    case 'Q':
      done_ = true;
      return std::nullopt;
    case 'j':
      move(1);
      return std::nullopt;
    case 'k':
      move(-1);
      return std::nullopt;
    case 's':
      sort_ =
          sort_ == TopSort::id ? TopSort::share : static_cast<TopSort>(static_cast<int>(sort_) + 1);
      return std::nullopt;
    case 'a':
      gpu_.reset();
      return std::nullopt;
    case 'l':
      limits_ = !limits_;
      return std::nullopt;
    case 'h':
    case '?':
      help_ = true;
      return std::nullopt;
    case 'p':
      return pause_or_resume();
    case '+':
    case '=':  // the same key on many keyboards
      return change_priority(1);
    case '-':
      return change_priority(-1);
    default:
      if (letter >= '0' && letter <= '9') choose_gpu(static_cast<std::uint64_t>(letter - '0'));
      return std::nullopt;
  }
}

std::optional<std::string> TopState::press(Key key) {
  message_.clear();
  if (help_ && key != Key{KeyKind::letter, 'q'}) {
    help_ = false;
    return std::nullopt;
  }
  switch (key.kind) {
    case KeyKind::letter:
      return press_letter(key.letter);
    case KeyKind::up:
      move(-1);
      break;
    case KeyKind::down:
      move(1);
      break;
    case KeyKind::page_up:
      move(-kPageLines);
      break;
    case KeyKind::page_down:
      move(kPageLines);
      break;
    case KeyKind::home:
      move(-kAllLines);
      break;
    case KeyKind::end:
      move(kAllLines);
      break;
    case KeyKind::escape:
      break;
  }
  return std::nullopt;
}

}  // namespace nvs::cli
