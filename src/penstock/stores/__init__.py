"""What is kept: journals, measurements and learned models, in sqlite or JSON files and in memory."""

from penstock.stores.averages import average
from penstock.stores.codec import (
    decode,
    decode_change,
    decode_decision,
    decode_entry,
    decode_payload,
    encode,
    encode_entry,
    encode_payload,
)
from penstock.stores.journal import MemoryJournal, SqliteJournal, Summary, summary
from penstock.stores.library import ModelInfo, ModelLibrary, SavedModel
from penstock.stores.metrics import MemoryMetricStore, MetricStore, SqliteMetricStore
from penstock.stores.profile import DataRange, Profile
from penstock.stores.resumed import ResumedJournal

__all__ = [
    "DataRange",
    "MemoryJournal",
    "MemoryMetricStore",
    "MetricStore",
    "ModelInfo",
    "ModelLibrary",
    "Profile",
    "ResumedJournal",
    "SavedModel",
    "SqliteJournal",
    "SqliteMetricStore",
    "Summary",
    "average",
    "decode",
    "decode_change",
    "decode_decision",
    "decode_entry",
    "decode_payload",
    "encode",
    "encode_entry",
    "encode_payload",
    "summary",
]
