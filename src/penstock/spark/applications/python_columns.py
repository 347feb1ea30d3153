"""Columns that ordinary Python functions compute."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column


def python_column(function: Callable[[list[Any]], list[Any]], kind: str, column: str) -> "Column":
    """What `function` makes of the values of `column`, many at a time; `kind` is its type in Spark's words."""
    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    def of_series(values: pd.Series) -> pd.Series:
        return pd.Series(function(values.tolist()))

    return pandas_udf(of_series, kind)(column)  # type: ignore[call-overload, no-any-return]
