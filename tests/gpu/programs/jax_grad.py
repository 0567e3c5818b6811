# SPDX-License-Identifier: Apache-2.0
"""JAX: a compiled product and its gradient. Small integers in floats, so that sums are exact in any
order: JAX's own results differ in the last digits from run to run."""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_default_matmul_precision", "highest")
SIZE = 256
rows, columns = np.indices((SIZE, SIZE))
x = jnp.asarray((rows + 2 * columns) % 3, jnp.float32)
w = jnp.asarray((rows * columns) % 2, jnp.float32)


@jax.jit
def loss(weights):
    return jnp.sum((x @ weights) * ((rows + columns) % 2))


value, gradient = jax.jit(jax.value_and_grad(loss))(w)
scanned, _ = jax.lax.scan(lambda carry, row: (carry + row, None), jnp.zeros(SIZE), x)
print(jax.devices()[0].platform, int(value), int(jnp.sum(gradient)), int(gradient[7, 9]))
print(int(jnp.max(scanned)), np.asarray(scanned[:8]).astype(int).tolist())
