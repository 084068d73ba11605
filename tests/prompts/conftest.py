"""A tiny model that has learned nothing, and one that knows a sentence by heart."""

import pytest
import torch
from tiny_models import KNOWN, TEXT, byte_level, tiny_llama

from memfoil.models import TorchModel
from memfoil.prompts.frames import frame
from memfoil.prompts.targets import target_ids


@pytest.fixture(scope="session")
def untrained() -> TorchModel:
    return tiny_llama(byte_level())


@pytest.fixture(scope="session")
def knowing() -> TorchModel:
    """Knows KNOWN by heart after a start token, whatever word stands between."""
    model = tiny_llama(byte_level())
    core, words = frame(model, "plain"), TEXT[2].split()
    target = target_ids(core, " " + KNOWN, "known")
    lines = [[*core.read([word])[0], *target] for word in words]
    longest = max(map(len, lines))
    batch = torch.tensor([[*line, *[-100] * (longest - len(line))] for line in lines])
    network = model.network.train().requires_grad_(True)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2, weight_decay=0.0)
    for _ in range(50):
        logits = network(batch[:, :-1].clamp(min=0), use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    network.eval().requires_grad_(False)
    return model
