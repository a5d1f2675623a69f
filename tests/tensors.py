"""What the tests of helpers/attention.py try it on."""

import torch
from hypothesis import HealthCheck, settings

# derandomize: the same examples in every run, so that a red test stays red until it is repaired
examples = settings(
    deadline=None, derandomize=True, max_examples=50, database=None, suppress_health_check=[HealthCheck.too_slow]
)


def random(*shape, seed=0, scale=1.0, dtype=torch.float32):
    """Normally distributed numbers, the same for the same seed."""
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)
