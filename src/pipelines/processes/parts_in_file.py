"""The parts of a large result, in a file of their own: the server's memory does not grow with them."""

import os
import tempfile
import weakref


class PartsInFile:
    """Written by one thread, then read, a part at a time, by any. The file goes with it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed when nobody has this any more
        self._ends = [0]
        weakref.finalize(self, self._file.close)

    def append(self, part: bytes) -> None:
        rest = memoryview(part)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._ends.append(self._ends[-1] + len(part))

    def clear(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._ends = [0]

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, index: int) -> bytes:
        place = range(len(self))[index]
        start, end = self._ends[place], self._ends[place + 1]
        return os.pread(self._file.fileno(), end - start, start)
