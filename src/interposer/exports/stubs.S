// SPDX-License-Identifier: Apache-2.0
// What the library exports, and how it hands calls on without knowing their arguments. For each row
// of the table there are three pieces of code of the same size, so that a row's piece is found by
// its index:
//   the exported symbol    jumps to nvs_linked[row], for callers that were linked to it
//   nvs_binders            what nvs_linked[row] is at first: finds the target, stores it, goes there
//   nvs_jumps              jumps to nvs_real[row], the hook of rows that have nothing to do
#include "interposer/exports/stub_size.h"

        .hidden nvs_real
        .hidden nvs_linked
        .hidden nvs_bind
        .hidden nvs_exports
        .hidden nvs_binders
        .hidden nvs_jumps

#define NVS_ALIGN .balign NVS_STUB_SIZE, NVS_STUB_FILL

#if defined(__x86_64__)

#define NVS_STUB_FILL 0xcc
#define NVS_JUMP(table) jmp *table + 8 * nvs_row(%rip)
#define NVS_BIND pushq $nvs_row; jmp nvs_bind_any

#elif defined(__aarch64__)

#define NVS_STUB_FILL 0
// x16 is the register that linkers' own stubs clobber; bti c is a no-op on older processors. The
// load acquires: whoever sees the target of a row must see the driver's functions as well.
#define NVS_JUMP(table)                              \
        hint #34;                                    \
        adrp x16, table + 8 * nvs_row;               \
        add x16, x16, :lo12:table + 8 * nvs_row;     \
        ldar x16, [x16];                             \
        br x16
#define NVS_BIND movz x17, #nvs_row; b nvs_bind_any

#endif

#define NVS_NEXT_ROW .set nvs_row, nvs_row + 1
#define NVS_EXPORT(symbol)               \
        .globl symbol;                   \
        .type symbol, %function;         \
symbol: .cfi_startproc;                  \
        NVS_JUMP(nvs_linked);            \
        .cfi_endproc;                    \
        .size symbol, . - symbol
#define NVS_EXPORT_gate(symbol) NVS_EXPORT(symbol)
#define NVS_EXPORT_own(symbol) NVS_EXPORT(symbol)
#define NVS_EXPORT_jump(symbol) NVS_EXPORT(symbol)
#define NVS_EXPORT_none(symbol)

        .text
        NVS_ALIGN
        .globl nvs_exports
nvs_exports:
        .set nvs_row, 0
#define NVS_ROW(symbol, library, action) NVS_EXPORT_##action(symbol); \
        .org nvs_exports + NVS_STUB_SIZE * (nvs_row + 1), NVS_STUB_FILL; NVS_NEXT_ROW;
#include "interposer/exports/rows.inc"
#undef NVS_ROW

        .globl nvs_binders
nvs_binders:
        .set nvs_row, 0
        .cfi_startproc
#define NVS_ROW(symbol, library, action) NVS_ALIGN; NVS_BIND; NVS_NEXT_ROW;
#include "interposer/exports/rows.inc"
#undef NVS_ROW
        .cfi_endproc

        NVS_ALIGN
        .globl nvs_jumps
nvs_jumps:
        .set nvs_row, 0
        .cfi_startproc
#define NVS_ROW(symbol, library, action) NVS_ALIGN; NVS_JUMP(nvs_real); NVS_NEXT_ROW;
#include "interposer/exports/rows.inc"
#undef NVS_ROW
        .cfi_endproc

        .section .data.rel.local, "aw"
        .balign 8
        .globl nvs_linked
nvs_linked:
        .set nvs_row, 0
#define NVS_ROW(symbol, library, action) .quad nvs_binders + NVS_STUB_SIZE * nvs_row; NVS_NEXT_ROW;
#include "interposer/exports/rows.inc"
#undef NVS_ROW

        .text
#if defined(__x86_64__)
#include "interposer/exports/stubs_x86_64.inc"
#elif defined(__aarch64__)
#include "interposer/exports/stubs_aarch64.inc"
#endif
        .section .note.GNU-stack, "", %progbits
