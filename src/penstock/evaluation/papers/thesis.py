"""The experiments of the thesis on QoS-aware deployment and adaptation of stream processing applications."""

from penstock.evaluation.papers.experiment import Experiment
from penstock.evaluation.papers.thesis_elasticity import table_8_3, table_8_4
from penstock.evaluation.papers.thesis_placement import figure_4_8, table_5_2
from penstock.evaluation.papers.thesis_replication import figure_6_3, figure_6_4, table_6_4

EXPERIMENTS = (
    Experiment("thesis-figure-4.8", "time to the best placement, by operators, nodes and capacity", figure_4_8),
    Experiment("thesis-table-5.2", "degradation of placement heuristics against the best placement", table_5_2),
    Experiment("thesis-figure-6.3", "response time and replicas of ten operators under rising load", figure_6_3),
    Experiment("thesis-figure-6.4", "metrics of ten operators by what is optimised", figure_6_4),
    Experiment("thesis-table-6.4", "replicas of the taxi routes query by its load", table_6_4),
    Experiment("thesis-table-8.3", "an hour of elastic deployment under four weightings", table_8_3),
    Experiment("thesis-table-8.4", "time to the best change of a deployment", table_8_4),
)
