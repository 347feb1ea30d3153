"""Penstock: elastic stream processing on Apache Spark."""
