"""Configures logging: to stderr, as text or as one JSON object per line."""

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import orjson

from pipelines.server.http.access_log import FIELDS, LOGGER

OURS = ("pipelines", "uvicorn")  # others are heard from warnings on


def configure(*, level: str, format: str) -> None:
    """Configures logging of a server process, once, before anything is logged."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    durable = logging.getLogger("dbos")  # brings a handler of its own unless it finds one
    durable.handlers, durable.propagate = [handler], False
    for name in OURS:
        logging.getLogger(name).setLevel(level.upper())
    logging.getLogger(LOGGER).setLevel(logging.INFO)  # it has a setting of its own


class TextLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(time)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        record.time = _time(record)
        return super().format(record)


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        line |= getattr(record, FIELDS, None) or {"message": record.getMessage()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="milliseconds") + "Z"
