"""Ending a run when the user asks for it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def first_interrupt(interrupted: threading.Event) -> Iterator[None]:
    """Let the first Ctrl-C, or a request to terminate, set `interrupted`; a second Ctrl-C breaks off."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
