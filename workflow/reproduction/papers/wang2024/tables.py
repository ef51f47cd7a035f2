"""How Tables 1 to 5 of Wang et al., PVLDB 17(8), 2024, are computed and shown."""

from __future__ import annotations

from reproduction.papers.tables import TableCode
from reproduction.papers.wang2024 import Asymptotics, Mechanisms, Metric, Protocols, Timed
from reproduction.papers.wang2024 import asymptotics as table_1
from reproduction.papers.wang2024 import general_pair as table_5
from reproduction.papers.wang2024 import parameters as tables_2_to_4

CODE = {
    Asymptotics: TableCode(lambda parameters, _: table_1.asymptotics(parameters), table_1.page),
    Mechanisms: TableCode(
        lambda parameters, _: tables_2_to_4.mechanisms(parameters.eps0), tables_2_to_4.page
    ),
    Metric: TableCode(
        lambda parameters, _: tables_2_to_4.metric(parameters.eps0), tables_2_to_4.page
    ),
    Protocols: TableCode(lambda parameters, _: tables_2_to_4.protocols(), tables_2_to_4.page),
    Timed: TableCode(table_5.timed, table_5.page),
}
