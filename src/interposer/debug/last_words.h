// SPDX-License-Identifier: Apache-2.0
// The end of the debug log, when the program ends in good order: what the books say, and the last
// line on stderr.
#pragma once

namespace nvs::interposer::debug {

void say_last_words();

}  // namespace nvs::interposer::debug
