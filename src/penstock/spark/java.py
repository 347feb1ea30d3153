"""The Java that Spark runs on."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from penstock.errors import EnvironmentMissing

MINIMUM_JAVA = 17

_FIX = f"install a JDK {MINIMUM_JAVA} or later and put it on PATH or set JAVA_HOME to it."


def require_java() -> Path:
    """The `java` that Spark will use, which is version 17 or later.

    Looks where Spark looks: in JAVA_HOME if that is set, else on PATH. Raises `EnvironmentMissing`.
    """
    java = _find_java()
    version = _major_version(java)
    if version < MINIMUM_JAVA:
        raise EnvironmentMissing(f"Spark needs Java {MINIMUM_JAVA}, but {java} is version {version}; {_FIX}")
    return java


def _find_java() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise EnvironmentMissing(f"JAVA_HOME is {home}, but there is no {java}; {_FIX}")
        return java
    found = shutil.which("java")
    if found is None:
        raise EnvironmentMissing(f"Spark needs Java, and there is none on PATH; {_FIX}")
    return Path(found)


def _major_version(java: Path) -> int:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentMissing(f"{java} does not tell its version ({error}); {_FIX}") from error
    return parse_java_version(answer.stderr + answer.stdout)


def parse_java_version(text: str) -> int:
    """The major version in what `java -version` printed; raises `EnvironmentMissing` if there is none."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        first = text.strip().splitlines()[0] if text.strip() else "nothing"
        raise EnvironmentMissing(f"No Java version can be read from '{first}'; {_FIX}")
    major = int(match[1])
    # Until version 8 Java called itself 1.x.
    return int(match[2] or 0) if major == 1 else major
