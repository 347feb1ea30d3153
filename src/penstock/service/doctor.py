"""What this machine has and what its Spark can do."""

import platform
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from penstock.errors import EnvironmentMissing


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str


def quick_findings() -> list[Finding]:
    """Python, Java and Spark, without starting anything."""
    from penstock.spark.java import require_java

    findings = [Finding("python", True, platform.python_version()), Finding("pyspark", True, version("pyspark"))]
    try:
        findings.append(Finding("java", True, str(require_java())))
    except EnvironmentMissing as error:
        findings.append(Finding("java", False, str(error)))
    return findings


def spark_findings() -> Iterator[Finding]:
    """Which abilities beyond the public interface this Spark has; starts a private cluster and stops it again."""
    from penstock.spark.cluster import EmbeddedCluster
    from penstock.spark.internals import abilities
    from penstock.spark.session import start_session, stop_session

    with tempfile.TemporaryDirectory(prefix="penstock-doctor-") as name:
        folder = Path(name)
        with EmbeddedCluster(folder / "cluster", executors=1) as cluster:
            spark = start_session(cluster, "penstock-doctor", folder / "session")
            try:
                found = abilities(spark)
            finally:
                stop_session(spark)
    fallbacks = {
        "scale_executors": "executors are fixed",
        "hot_partitions": "stateless operators are rescaled by a restart",
        "finish_batch": "a batch may have to be repeated after a restart",
        "rewrite_state": "stateful operators keep their parallelism",
        "stage_metrics": "nothing can be measured per operator",
    }
    for ability, otherwise in fallbacks.items():
        ok = bool(getattr(found, ability))
        reason = found.reasons.get(ability, "")
        yield Finding(ability.replace("_", " "), ok, "yes" if ok else f"no ({reason}), so {otherwise}")
