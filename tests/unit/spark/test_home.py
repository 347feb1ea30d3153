"""Where the programs and libraries of Spark are."""

from pathlib import Path

from penstock.spark.home import spark_home, unpacked_home


def test_programs_and_libraries_are_there_without_the_archive(tmp_path: Path) -> None:
    home = unpacked_home(tmp_path / "cluster")
    assert (home / "bin" / "spark-class").is_file()
    assert sorted(entry.name for entry in home.iterdir()) == ["bin", "jars"]


def test_what_others_may_be_starting_from_is_left_in_place(tmp_path: Path) -> None:
    """Two workers of a cluster start at once; the first must not lose its programs when the second asks for them."""
    links = [unpacked_home(tmp_path) / name for name in ("bin", "jars")]
    before = [link.lstat() for link in links]
    unpacked_home(tmp_path)
    assert [(link.lstat().st_ino, link.lstat().st_ctime_ns) for link in links] == [
        (status.st_ino, status.st_ctime_ns) for status in before
    ]


def test_links_to_another_spark_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "bin").symlink_to(tmp_path / "gone")
    assert (unpacked_home(tmp_path) / "bin").readlink() == spark_home() / "bin"
