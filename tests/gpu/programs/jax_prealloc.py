# SPDX-License-Identifier: Apache-2.0
"""JAX with the memory that it takes at the start by itself: products for SECONDS, in exact numbers.

Prints how much it took and whether the last product is right.
"""

import sys
import time

import jax
import jax.numpy as jnp

SIZE = 16384
# Powers of two: each product has 1 / SIZE everywhere, exactly, whatever the order of its sums.
x = jnp.ones((SIZE, SIZE), jnp.float32) / SIZE
product = jax.jit(lambda a: a @ a)

y = product(x)
y.block_until_ready()
end = time.monotonic() + float(sys.argv[1])
count = 0
while time.monotonic() < end:
    y = product(y)
    count += 1
    if count % 4 == 0:
        y.block_until_ready()
right = bool((y == x).all())
limit = jax.devices()[0].memory_stats().get("bytes_limit", 0) >> 20
print(f"{count} products, {limit} MiB taken,", "right" if right else "WRONG")
