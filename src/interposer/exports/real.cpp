// SPDX-License-Identifier: Apache-2.0
#include "interposer/exports/real.h"

std::atomic<void*> nvs_real[nvs::interposer::kRowCount];
