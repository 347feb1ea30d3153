"""What is kept: journals, measurements and learned models, in sqlite or JSON files and in memory."""

from penstock.stores.codec import (
    decode,
    decode_change,
    decode_decision,
    decode_entry,
    encode,
    encode_entry,
)
from penstock.stores.journal import MemoryJournal, SqliteJournal, Summary, summary
from penstock.stores.resumed import ResumedJournal

__all__ = [
    "MemoryJournal",
    "ResumedJournal",
    "SqliteJournal",
    "Summary",
    "decode",
    "decode_change",
    "decode_decision",
    "decode_entry",
    "encode",
    "encode_entry",
    "summary",
]
