// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/work/event_record.h"

#include <chrono>
#include <thread>
#include <utility>

#include "cuda_sim/work/submit.h"

namespace nvs::sim {
namespace {

constexpr auto kEventPollInterval = std::chrono::microseconds(50);

class TellOthers final : public Op {
 public:
  TellOthers(std::shared_ptr<SharedEvent> event, std::uint64_t record)
      : Op(Lane::host), event_(std::move(event)), record_(record) {}
  void perform(std::uint64_t, std::uint64_t) override { event_->finish(record_); }
  const char* name() const override { return "an event's news for other processes"; }

 private:
  const std::shared_ptr<SharedEvent> event_;
  const std::uint64_t record_;
};

class AwaitOthers final : public Op {
 public:
  AwaitOthers(Driver& driver, Context& context, std::shared_ptr<SharedEvent> event,
              std::uint64_t record)
      : Op(Lane::host),
        driver_(driver),
        context_(context),
        event_(std::move(event)),
        record_(record) {}

  void perform(std::uint64_t, std::uint64_t) override {
    while (!event_->has_finished(record_) && context_lives()) {
      std::this_thread::sleep_for(kEventPollInterval);
    }
  }
  const char* name() const override { return "a wait for another process's event"; }

 private:
  bool context_lives() {
    const std::lock_guard guard{driver_.lock};
    return !context_.destroyed && context_.sticky == CUDA_SUCCESS;
  }

  Driver& driver_;
  Context& context_;
  const std::shared_ptr<SharedEvent> event_;
  const std::uint64_t record_;
};

}  // namespace

OpPtr record_of(Driver& driver, Event& event) {
  if (!event.shared) return event.record;
  const std::uint64_t last = event.shared->last_record();
  if (event.shared->has_finished(last)) return nullptr;
  if (event.shared_record != last) {
    event.shared_record = last;
    event.record = std::make_shared<AwaitOthers>(driver, *event.context, event.shared, last);
    submit_to_waiter(driver, *event.context, event.record, {});
  }
  return event.record;
}

void announce_record(Event& event) {
  if (!event.shared) return;
  event.shared_record = event.shared->record();
  const std::vector<OpPtr> after{event.record};
  event.context->engine->submit(std::make_shared<TellOthers>(event.shared, event.shared_record),
                                after);
}

}  // namespace nvs::sim
