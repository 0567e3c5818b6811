// SPDX-License-Identifier: Apache-2.0
// A libnvshare.so that does nothing but be there, so that tests can tell whether it was loaded.

extern "C" __attribute__((visibility("default"))) int nvshare_fake_library() { return 1; }
