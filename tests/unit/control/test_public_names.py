import penstock.control


def test_the_public_names_are_these() -> None:
    assert sorted(penstock.control.__all__) == [
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
    assert all(hasattr(penstock.control, name) for name in penstock.control.__all__)
