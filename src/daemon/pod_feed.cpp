// SPDX-License-Identifier: Apache-2.0
#include "daemon/pod_feed.h"

#include <utility>

#include "base/log.h"

namespace nvs::daemon {

Result<std::unique_ptr<PodFeed>> PodFeed::start(const kube::Settings& settings, os::EventLoop& loop,
                                                Take take) {
  kube::PodMailbox mailbox = NVS_TRY(kube::PodMailbox::create());
  std::unique_ptr<PodFeed> feed(new PodFeed(loop, std::move(mailbox)));
  kube::PodMailbox& box = feed->mailbox_;
  feed->watch_ = NVS_TRY(kube::PodWatch::start(
      settings, [&box](kube::Update update) { box.post(std::move(update)); }));
  NVS_TRY(loop.add(box.fd(), EPOLLIN, [&box, take = std::move(take)](std::uint32_t) {
    const kube::Update update = box.take();
    for (const kube::Message& message : update.messages) {
      const bool is_warning = message.level == kube::Message::Level::warning;
      log(is_warning ? Level::warning : Level::info, message.text.c_str(), {});
    }
    take(update);
  }));
  return feed;
}

PodFeed::~PodFeed() { loop_.remove(mailbox_.fd()); }

}  // namespace nvs::daemon
