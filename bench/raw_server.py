"""The least a Python server can do: a fixed reply to whatever arrives, to see what the load itself can reach.

python bench/raw_server.py PORT
"""

import asyncio
import sys
from typing import cast

import uvloop

REPLY = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 19\r\n\r\n{"order_id":"4521"}'


class Raw(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast(asyncio.Transport, transport).write  # uvloop's does not derive from asyncio's

    def data_received(self, data: bytes) -> None:
        self._write(REPLY)


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Raw, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
