"""The one place where the types of tool endpoints get what asks them.

A type that is not in the mapping is refused when an endpoint of it is registered: "this server cannot ask…".
"""

from pipelines.core.live_tools import EndpointMaker
from pipelines.outbound.address_guard import AddressPolicy


def endpoint_makers(policy: AddressPolicy) -> dict[str, EndpointMaker]:
    """By type; `policy` says where the platform may connect to."""
    return {}
