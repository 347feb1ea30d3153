"""Starts the Python workers of an executor, all with what they need loaded before the first of them is forked.

It runs in place of `pyspark.daemon` (`spark.python.daemon.module`), of which every worker loads Arrow and pandas anew:
seconds of processor time for each, and an executor has several. See decision 20.
"""

import pandas  # noqa: F401
import pyarrow  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import penstock.spark.source  # noqa: F401

if __name__ == "__main__":
    manager()
