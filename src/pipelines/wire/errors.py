"""Every error that crosses the network, by its stable code. The docstring is the default message.

OdysseyError
  BadRequest                      the request itself cannot be read
    InvalidJsonBody
    UnsupportedMediaType
    BodyTooLarge
      ReplyTooLarge
    InvalidCursor
    ActorIdInvalid
    TraceEventTypeInvalid
  Unauthorized                    who is asking is not known
    MissingApiKey
    InvalidApiKey
    InvalidRunToken
    InvalidToken                  a JSON Web Token that is not believed
      TokenTooLarge
      TokenUnsigned
      TokenAlgorithmRefused
      TokenKeyUnknown
      TokenSignatureInvalid
      TokenExpired
      TokenNotYetValid
      TokenWrongIssuer
      TokenWrongAudience
      TokenClaimMissing
  Forbidden                       known, but not allowed
    TokenRoleUnknown
    TokenOrgUnknown
  MisdirectedRequest              meant for a server of another name
  NotFound                        not there, or another org's
    ToolNotDeclared
  MethodNotAllowed
  Conflict                        right request, wrong moment
    RunNotActive
    AgentIsDraft
    CodeModeUnavailable
    IdempotencyKeyReused
    IdempotencyKeysFull
    SecretUnreadable
    ReviewClaimed
    EndpointBound
    EndpointDrift
    BudgetExceeded
    SessionState                  a seed session is further, or not so far
    StaleRevision
  Invalid                         read, understood, and wrong: details list every problem
    InvalidRequest
    InvalidArguments
    ModelNotConfigured
  RateLimited
  SimulationError                 the simulated backend could not answer
  AskFailed                       what a tool call had to be passed on to could not answer
    OutcomeUnknown
    CassetteMiss
  ModelFailed                     a model gave nothing that can be used
  StorageUnavailable              worth a retry
  IssuerUnavailable               worth a retry
  InternalError                   our fault
"""

from typing import Any, ClassVar


class OdysseyError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str | None = None, *, details: Any = None) -> None:
        super().__init__(message or " ".join((type(self).__doc__ or "").split()))
        self.details = details

    @property
    def message(self) -> str:
        return str(self.args[0])

    def as_json(self) -> dict[str, Any]:
        """The error object of the wire: `{code, message, details?, retryable?}`."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details is not None:
            body["details"] = self.details
        if self.retryable:
            body["retryable"] = True
        return body


class BadRequest(OdysseyError):
    """The request cannot be read."""

    code = "bad_request"


class InvalidJsonBody(BadRequest):
    """The body is not JSON that can be read in only one way."""

    code = "invalid_json"


class UnsupportedMediaType(BadRequest):
    """Send a JSON body (application/json), or a file as multipart/form-data where one is taken."""

    code = "unsupported_media_type"


class BodyTooLarge(BadRequest):
    """The body is over the size limit."""

    code = "body_too_large"


class ReplyTooLarge(BodyTooLarge):
    """The tool's reply is over 1 MiB, so it is not sent and nothing was changed."""

    code = "reply_too_large"


class InvalidCursor(BadRequest):
    """The cursor is not one that this list handed out; start again without it."""

    code = "invalid_cursor"


class ActorIdInvalid(BadRequest):
    """X-Pipelines-Actor-Id must be 1-8 segments of [A-Za-z0-9_.-]{1,64} joined by '/'."""

    code = "actor_id_invalid"


class TraceEventTypeInvalid(BadRequest):
    """No such trace event type."""

    code = "trace_event_type_invalid"


class Unauthorized(OdysseyError):
    """Who is asking is not known."""

    code = "unauthorized"


class MissingApiKey(Unauthorized):
    """Send an API key as 'Authorization: Bearer pk_live_…' or 'X-API-Key: pk_live_…'."""

    code = "missing_api_key"


class InvalidApiKey(Unauthorized):
    """This API key is unknown or revoked."""

    code = "invalid_api_key"


class InvalidRunToken(Unauthorized):
    """The run token is missing or unknown. Send the token of this run as 'Authorization: Bearer …'."""

    code = "invalid_run_token"


class InvalidToken(Unauthorized):
    """This is no JSON Web Token that can be read. Send three parts with dots between them, as
    `pipelines token` or your issuer made them."""

    code = "invalid_token"


class TokenTooLarge(InvalidToken):
    """The token is over 16 KiB. Ask the issuer for one with fewer claims."""

    code = "token_too_large"


class TokenUnsigned(InvalidToken):
    """The token is not signed (its alg is none, or its signature is missing), so anybody could have made it.
    Send a signed one."""

    code = "token_unsigned"


class TokenAlgorithmRefused(InvalidToken):
    """The token is signed with an algorithm that is not taken from its issuer."""

    code = "token_algorithm_refused"


class TokenKeyUnknown(InvalidToken):
    """The issuer publishes no key that this token could be signed with. If its keys have just changed, get a
    new token or try again in ten seconds."""

    code = "token_key_unknown"


class TokenSignatureInvalid(InvalidToken):
    """The token's signature does not fit: it was changed, or signed with another key than its issuer's. A
    token of `pipelines token` is good for the server whose data directory it was made in."""

    code = "token_signature_invalid"


class TokenExpired(InvalidToken):
    """The token has expired. Make a new one with `pipelines token`, or get one from the issuer."""

    code = "token_expired"


class TokenNotYetValid(InvalidToken):
    """The token is not valid yet. Check the clocks of the issuer and of this server; PIPELINES_TOKEN_SKEW_S
    says how far they may differ."""

    code = "token_not_yet_valid"


class TokenWrongIssuer(InvalidToken):
    """The token is of an issuer that this server does not trust. It takes tokens of `pipelines token`, and of
    PIPELINES_OIDC_ISSUER where that is set."""

    code = "token_wrong_issuer"


class TokenWrongAudience(InvalidToken):
    """The token is meant for somebody else."""

    code = "token_wrong_audience"


class TokenClaimMissing(InvalidToken):
    """The token lacks a claim that it must have."""

    code = "token_claim_missing"


class SignInRefused(Unauthorized):
    """The issuer did not sign you in."""

    code = "sign_in_refused"


class Forbidden(OdysseyError):
    """This key's role does not allow it."""

    code = "forbidden"


class TokenRoleUnknown(Forbidden):
    """The token names no role: viewer, contributor, admin or owner."""

    code = "token_role_unknown"


class TokenOrgUnknown(Forbidden):
    """The token names no org of this server."""

    code = "token_org_unknown"


class MisdirectedRequest(OdysseyError):
    """The Host header names another server than this one."""

    code = "misdirected_request"


class NotFound(OdysseyError):
    """There is no such thing here."""

    code = "not_found"


class ToolNotDeclared(NotFound):
    """The agent's tools_schema has no tool of this name."""

    code = "tool_not_declared"


class MethodNotAllowed(OdysseyError):
    """This path does not take this method."""

    code = "method_not_allowed"


class Conflict(OdysseyError):
    """This cannot be done in the present state."""

    code = "conflict"


class RunNotActive(Conflict):
    """The run has ended; its tools no longer answer."""

    code = "run_not_active"


class AgentIsDraft(Conflict):
    """A draft agent cannot be run; publish it first."""

    code = "agent_is_draft"


class CodeModeUnavailable(Conflict):
    """This server cannot isolate other people's code, so it does not run any."""

    code = "code_mode_unavailable"


class IdempotencyKeyReused(Conflict):
    """This Idempotency-Key came before with another tool or other arguments."""

    code = "idempotency_key_reused"


class IdempotencyKeysFull(Conflict):
    """This run has had 100,000 Idempotency-Keys, the most that one may have."""

    code = "idempotency_keys_full"


class SecretUnreadable(Conflict):
    """The agent's auth header was encrypted with another secret key than this server has. Give all nodes the
    same PIPELINES_SECRET_KEY, or set auth_header_value again."""

    code = "secret_unreadable"


class ReviewClaimed(Conflict):
    """Somebody else is looking at this review; details say who, and until when."""

    code = "review_claimed"


class EndpointBound(Conflict):
    """Agents pass tools through to this endpoint; details list them."""

    code = "endpoint_bound"


class EndpointDrift(Conflict):
    """A tool that this agent passes through is not what was accepted; details say how it differs."""

    code = "endpoint_drift"


class SessionState(Conflict):
    """The seed session is not in a state for this; details say which one it is in."""

    code = "session_state"


class StaleRevision(Conflict):
    """The world was changed since you looked at it; details have the present revision."""

    code = "stale_revision"


class Invalid(OdysseyError):
    """The content is wrong; details list every problem."""

    code = "invalid"


class InvalidRequest(Invalid):
    """The request has problems; details list every one."""

    code = "invalid_request"


class InvalidArguments(Invalid):
    """The arguments do not fit the tool's input_schema."""

    code = "invalid_arguments"


class RateLimited(OdysseyError):
    """Too many calls with this run token; wait and try again."""

    code = "rate_limited"
    retryable = True


class SimulationError(OdysseyError):
    """The simulated backend could not answer this call."""

    code = "simulation_failed"


class AskFailed(OdysseyError):
    """What this call was passed on to could not be reached, or gave no answer that can be used."""

    code = "transport_error"


class OutcomeUnknown(AskFailed):
    """The call was passed on, and the server stopped or the run ended before its outcome was stored. Whether
    it took effect is not known; it is not made again."""

    code = "outcome_unknown"


class CassetteMiss(AskFailed):
    """The run replays a cassette, and this call was not recorded on it."""

    code = "cassette_miss"


class ModelFailed(OdysseyError):
    """The model gave no answer that can be used."""

    code = "model_failed"

    def __init__(self, message: str | None = None, *, reason: str = "", details: Any = None) -> None:
        """`reason` is a stable word, such as `timeout`."""
        super().__init__(message, details={"reason": reason} | (details or {}))
        self.reason = reason


class BudgetExceeded(Conflict):
    """What this batch may spend on models is used up."""

    code = "budget_exceeded"


class ModelNotConfigured(Invalid):
    """This needs a model, and none is set: PIPELINES_MODEL names one for everything."""

    code = "model_not_configured"


class StorageUnavailable(OdysseyError):
    """The call could not be stored, so it did not happen; try again."""

    code = "storage_unavailable"
    retryable = True


class IssuerUnavailable(OdysseyError):
    """The keys of the token's issuer could not be fetched, so the token could not be checked; try again."""

    code = "issuer_unavailable"
    retryable = True


class InternalError(OdysseyError):
    """Something broke on our side; the log has it."""

    code = "internal_error"


def every_error() -> list[type[OdysseyError]]:
    """All error classes with a code of their own, for the documentation and its test."""
    found: list[type[OdysseyError]] = []
    pending: list[type[OdysseyError]] = [OdysseyError]
    while pending:
        for kind in pending.pop(0).__subclasses__():
            found += [kind] if "code" in vars(kind) else []
            pending.append(kind)
    return found
