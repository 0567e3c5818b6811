// SPDX-License-Identifier: Apache-2.0
// The log of a daemon that an `nvshare run` started is a file that nobody else looks after, and the
// daemon lives for as long as somebody uses it.
#pragma once

#include <sys/types.h>

namespace nvs::daemon {

// Empties the file behind `fd` if it has more bytes than that; whether it did. Only a file that is
// written at its end whoever shortens it (O_APPEND): what is none stays as it is.
bool empty_if_long(int fd, off_t bytes_max);

}  // namespace nvs::daemon
