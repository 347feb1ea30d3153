"""The control loop and its ports: observe, decide, guard, act, verify."""

from penstock.control.actions import Action, Level
from penstock.control.entries import Acted, Decided, Ended, Entry, Judged, Observed, Refused, Requested, Started
from penstock.control.levels import SegmentChange, segment_changes
from penstock.control.loop import ControlLoop, Plant, Ports
from penstock.control.ports import Actuator, Clock, Journal, Monitor
from penstock.control.replay import Replayed, began, replay, rewound
from penstock.control.settings import LoopSettings

__all__ = [
    "Acted",
    "Action",
    "Actuator",
    "Clock",
    "ControlLoop",
    "Decided",
    "Ended",
    "Entry",
    "Journal",
    "Judged",
    "Level",
    "LoopSettings",
    "Monitor",
    "Observed",
    "Plant",
    "Ports",
    "Refused",
    "Replayed",
    "Requested",
    "SegmentChange",
    "Started",
    "began",
    "replay",
    "rewound",
    "segment_changes",
]
