"""Errors about Spark: what is missing to reach it, and what it could not do."""

from __future__ import annotations

from comparity.errors.spelling import ComparityError


class NoSparkError(ComparityError, RuntimeError):
    """Spark was asked for, and something that it needs is not on this machine."""

    def __init__(self, master: str, found: str, hint: str) -> None:
        super().__init__(f"no table can be read on Spark at {master!r}.", found, hint)


class SparkUnreachableError(ComparityError, ConnectionError):
    """Nobody answers where Spark should be, or nobody there has room for the work."""

    def __init__(self, master: str, found: str) -> None:
        super().__init__(
            f"Spark at {master!r} does not answer.",
            found,
            "check the address and its port (that of the master, 7077, or of Spark Connect, "
            "15002), that the master runs, and that a worker has a free core.",
        )


class SparkFormatError(ComparityError, ValueError):
    """Spark lacks what reads tables of a kind."""

    def __init__(self, name: str, found: str) -> None:
        super().__init__(
            f"Spark cannot read {name!r}.",
            found,
            "give Spark the package of that format, such as "
            "PYSPARK_SUBMIT_ARGS='--packages io.delta:delta-spark_2.13:4.0.0 pyspark-shell', or "
            "write the table as Parquet.",
        )


class SparkJobError(ComparityError, RuntimeError):
    """Work on Spark broke off."""

    def __init__(self, found: str) -> None:
        lines = [line.strip() for line in found.strip().splitlines() if line.strip()]
        super().__init__(
            "Spark did not finish the work.",
            " ".join(lines[:2])[:300] or "no reason given",
            "run it again; if it breaks off again, look at the logs of the workers: lost workers, "
            "full disks and too little memory are told there.",
        )


class SpillFullError(ComparityError, OSError):
    """The disk is full where what does not fit into memory is written."""

    def __init__(self, where: str, found: str) -> None:
        super().__init__(
            f"no space is left in {where}, where rows that do not fit into memory go.",
            (found.strip().splitlines() or ["no reason given"])[0][:300],
            "free space there, name another folder by --spill (of Spark: spark.local.dir), or "
            "allow more memory; nothing was written beside, and what was spilled is gone.",
        )
