"""How Tables 1 to 5 of Wang et al., PVLDB 17(8), 2024, are computed and shown."""

from __future__ import annotations

from reproduction.papers.tables import TableCode
from reproduction.papers.wang2024 import Asymptotics, Mechanisms, Metric, Protocols, Timed
from reproduction.papers.wang2024.asymptotics import asymptotics_page, asymptotics_table
from reproduction.papers.wang2024.general_pair import timed_page, timed_table
from reproduction.papers.wang2024.parameters import (
    mechanisms_table,
    metric_table,
    parameters_page,
    protocols_table,
)

CODE = {
    Asymptotics: TableCode(lambda parameters, _: asymptotics_table(parameters), asymptotics_page),
    Mechanisms: TableCode(lambda parameters, _: mechanisms_table(parameters.eps0), parameters_page),
    Metric: TableCode(lambda parameters, _: metric_table(parameters.eps0), parameters_page),
    Protocols: TableCode(lambda *_: protocols_table(), parameters_page),
    Timed: TableCode(timed_table, timed_page),
}
