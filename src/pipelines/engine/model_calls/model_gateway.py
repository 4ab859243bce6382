"""The models that this node lets uploaded code ask, and within which bounds: the operator's word."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.core.models.model_upstreams import ModelUpstream

MEBIBYTE = 1024 * 1024
#: Of one run's questions and answers: passing bytes on takes the event loop's time from everybody.
BYTES_AT_ONCE, BYTES_PER_S = 4 * MEBIBYTE, 4 * MEBIBYTE
LEAST_BYTES = 4 * 1024  # of a part: a thousand events a second


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelLimits:
    calls: int = 500  # of one run
    at_once: int = 8  # of one run; more wait
    timeout_s: float = 600.0  # of one call, from the lookup of the name to the last byte
    request_bytes: int = 8 * MEBIBYTE
    answer_bytes: int = 16 * MEBIBYTE


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelGateway:
    upstreams: Mapping[str, ModelUpstream] = field(default_factory=dict)
    limits: ModelLimits = field(default_factory=ModelLimits)
