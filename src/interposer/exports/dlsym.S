// SPDX-License-Identifier: Apache-2.0
// dlsym and dlvsym. For every name that is not ours they jump on with the return address untouched:
// the real ones look at it to find out who asks (RTLD_NEXT, RTLD_DEFAULT).
        .hidden nvs_look_up
        .hidden nvs_next_dlsym
        .hidden nvs_next_dlvsym
        .hidden nvs_find_next_dlsym
        .hidden nvs_find_next_dlvsym

        .text
#if defined(__x86_64__)
#include "interposer/exports/dlsym_x86_64.inc"
#elif defined(__aarch64__)
#include "interposer/exports/dlsym_aarch64.inc"
#endif
        .section .note.GNU-stack, "", %progbits
