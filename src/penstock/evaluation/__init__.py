"""What runs were worth: measures, scoreboards and reports, all from journals."""

from penstock.evaluation.measures import ApplicationMeasures, Choice, Measures, measure
from penstock.evaluation.report import write_report
from penstock.evaluation.scoreboard import COLUMNS, Column, Row, Scoreboard, rank, spreads
from penstock.evaluation.verdict import verdict

__all__ = [
    "COLUMNS",
    "ApplicationMeasures",
    "Choice",
    "Column",
    "Measures",
    "Row",
    "Scoreboard",
    "measure",
    "rank",
    "spreads",
    "verdict",
    "write_report",
]
