// SPDX-License-Identifier: Apache-2.0
// Which problem does it solve? A measurement that cannot go on (the driver refuses a call, a child
// process died) must unwind through many layers to the one place that prints it. The benchmark is a
// program of its own, so an exception is the short way; nothing here is linked into the product.
#pragma once

#include <stdexcept>

namespace nvs::bench {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nvs::bench
