"""Where the programs and libraries of Spark are."""

from pathlib import Path


def spark_home() -> Path:
    """The Spark that came with the installed pyspark; no other would speak with it reliably."""
    import pyspark

    return Path(pyspark.__file__).parent


def unpacked_home(folder: Path) -> Path:
    """The same Spark, linked in `folder`, without its packed copy of PySpark.

    Spark puts that archive first on the path of every Python process it starts. Nothing in an archive can be kept
    compiled, so each of them would compile PySpark anew; without it they load the one that is installed.
    """
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars"):
        link, target = home / name, spark_home() / name
        # One that is right stays: another process of the cluster may be about to start from it.
        if not link.is_symlink() or link.readlink() != target:
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    return home
