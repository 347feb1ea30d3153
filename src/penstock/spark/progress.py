"""What Spark reports, parsed into values. Nothing past this module sees Spark's JSON."""
