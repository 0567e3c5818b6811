# SPDX-License-Identifier: Apache-2.0
"""transformers: a small GPT-2 with random weights, trained for some steps, then made to write."""

import torch
import transformers

torch.manual_seed(0)
torch.use_deterministic_algorithms(True, warn_only=True)
config = transformers.GPT2Config(
    vocab_size=512, n_positions=128, n_embd=128, n_layer=3, n_head=4, attn_implementation="eager"
)
model = transformers.GPT2LMHeadModel(config).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
tokens = torch.randint(0, 512, (4, 64), generator=torch.Generator().manual_seed(1)).cuda()
model.eval()  # no dropout
for _ in range(5):
    optimizer.zero_grad()
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    print("loss", loss.item().hex())
written = model.generate(
    tokens[:1, :8],
    attention_mask=torch.ones_like(tokens[:1, :8]),
    max_new_tokens=24,
    do_sample=False,
    pad_token_id=0,
)
print("tokens", written.tolist())
