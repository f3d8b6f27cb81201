"""Device memory of a deployment: weights, what the engine keeps, and tokens that have room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffplan.base.array_math import Number, ceil_div, choose, maximum, minimum
from ffplan.base.record import record
from ffplan.serving.memory import (
    _cache_room,
    _paged_tokens,
    cache_bytes,
    cache_share,
    cached_tokens,
    splits_heads,
    weight_memory,
)

if TYPE_CHECKING:
    from ffplan.catalog.engines import Engine
    from ffplan.catalog.models import Transformer
    from ffplan.serving.requests import Requests
    from ffplan.serving.step import Served


@record
class MemoryUse:
    """Memory of one accelerator [byte]."""

    limit: Number
    """What the engine takes of the device."""
    weights: Number
    reserve: Number
    """Activations, graphs and communication."""
    cache: Number
    """Room for keys and values."""
    token: Number
    """Keys and values of a token in an accelerator, in all layers of a stage."""
    tokens: Number
    """Tokens for which an attention group has room if all layers keep them [1]."""
    block: float
    """Tokens of a block [1]."""
    most: float
    """Most sequences that the engine runs at a time [1]."""
    whole: bool
    """True if a request starts when its whole answer has room."""


def memory_use(served: Served, engine: Engine, share: float | None = None) -> MemoryUse:
    """Return the memory of an accelerator, and the tokens that have room.

    Args:
        served: the model on its deployment.
        engine: its memory settings.
        share: fraction of device memory that it takes [1]; its default if omitted.

    Equation:
        tokens = (share x memory - weights - reserve) / (bytes of a token / p); 0 on ranks between which heads do not
        split, where no engine starts

    Source:
        Kwon et al., arXiv 2309.06180: the memory that weights leave is divided into blocks.
    """
    deployment = served.deployment
    share, reserve = share or engine.memory.value, float(engine.reserve.value)
    layers = served.shape.layers
    # the first stages have a layer more where the others do not divide
    fullest = ceil_div(layers, deployment.pipeline) * deployment.pipeline / layers
    weights = weight_memory(served.weights, deployment) * fullest
    cache = _cache_room(served.machine.memory, share, weights, reserve)
    cache = choose(splits_heads(served.shape, deployment.tensor), cache, 0.0 * cache)
    held = cache_bytes(served.shape, deployment.cache_width) * cache_share(served.shape, deployment.tensor)
    token = held / deployment.pipeline * fullest
    return MemoryUse(
        limit=share * served.machine.memory,
        weights=weights,
        reserve=reserve,
        cache=cache,
        token=token,
        tokens=cache / token,
        block=float(engine.block.value),
        most=float(engine.sequences.value),
        whole=engine.admission == "whole",
    )


def requests_with_room(use: MemoryUse, shape: Transformer, requests: Requests) -> Number:
    """Return how many requests an attention group runs at a time.

    Args:
        use: memory of an accelerator.
        shape: the model, whose layers with a window keep fewer tokens.
        requests: their lengths, and the prefix that all share and that is held once.

    Returns:
        Requests [1], not rounded; at most what the engine runs.

    Equation:
        min((tokens with room - kept of the prefix) / kept of a request, most); the tokens of a whole request, or on
        average over its life, prompt + output / 2, where requests start with room for their prompt

    Source:
        Kwon et al., arXiv 2309.06180, section 4.5: vLLM admits by prompt and evicts; TensorRT-LLM's scheduler without
        eviction (GUARANTEED_NO_EVICT) reserves the answer.
    """
    kept = cached_tokens(shape, _paged_tokens(maximum(requests.kept(whole=use.whole), 1.0), use.block))
    return minimum(_free_tokens(use, shape, requests) / kept, use.most)


def _free_tokens(use: MemoryUse, shape: Transformer, requests: Requests) -> Number:
    """Return the tokens that have room beside the prefix that all requests share [1], if all layers keep them."""
    return maximum(use.tokens - cached_tokens(shape, requests.shared), 0.0)
