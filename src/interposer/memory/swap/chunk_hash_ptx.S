// SPDX-License-Identifier: Apache-2.0
// The PTX of chunk_hash.ptx as a string.
  .section .rodata
  .globl nvs_chunk_hash_ptx
  .hidden nvs_chunk_hash_ptx
nvs_chunk_hash_ptx:
  .incbin "interposer/memory/swap/chunk_hash.ptx"
  .byte 0
  .section .note.GNU-stack, "", %progbits
