"""A PostgreSQL cluster of its own for tests: in a temporary folder, without a network port."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

SERVERS = ("/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt/postgresql")
NOBODY = ("postgres", "nobody")
USER = "comparity"
# Back to what a new database has: no connection of others, nothing in the schema, open to all.
EMPTY = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    "DROP SCHEMA public CASCADE",
    "CREATE SCHEMA public",
    "GRANT USAGE ON SCHEMA public TO PUBLIC",
)


def find_programs() -> Path | None:
    """Return the folder that holds initdb and pg_ctl; None where there is none."""
    on_path = shutil.which("initdb")
    if on_path and shutil.which("pg_ctl"):
        return Path(on_path).parent
    found = [one for home in SERVERS for one in Path(home).glob("*/bin/initdb")]
    return max(found, key=lambda one: one.parts[-3]).parent if found else None


def find_user() -> str | None:
    """Return whom to run the server as; None for whoever runs the tests, who must not be root."""
    if os.geteuid() != 0:
        return None
    import pwd

    known = {one.pw_name for one in pwd.getpwall()}
    return next((name for name in NOBODY if name in known), "")


def why_not() -> str:
    """Return why no cluster can be started; empty where one can."""
    if find_programs() is None:
        return "no PostgreSQL server (initdb, pg_ctl) on PATH or in /usr/lib/postgresql"
    if find_user() == "":
        return "PostgreSQL does not run as root, and there is no user to run it as"
    return ""


class Cluster:
    """A running cluster.

    Parameters
    ----------
    folder : Path
        Where its files and its socket are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs, self.user = folder, find_programs(), find_user()
        self._count, self._free = 0, list[str]()

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL as the cluster's user."""
        assert self.programs is not None
        subprocess.run(
            [self.programs / program, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=self.user,
            cwd=self.folder,
            timeout=60,
        )

    def start(self, *, fsync: bool) -> None:
        """Start the server; it listens to a socket in the folder and to no port."""
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=120"
        options += f" -c fsync={'on' if fsync else 'off'}"
        log = str(self.folder / "log")
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-o", options, "-l", log, "-w", "start")

    def stop(self, how: str = "fast") -> None:
        """Stop the server; ``"immediate"`` is what a crash is."""
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-m", how, "-w", "stop")

    @contextmanager
    def empty_database(self) -> Iterator[str]:
        """Lend an empty database by its address; the next to ask gets it, emptied again.

        Making a database copies some 300 files, and removing a hundred of them takes a minute.
        """
        if not self._free:
            self._count += 1
            self._free.append(f"study{self._count}")
            self._execute("postgres", f"CREATE DATABASE {self._free[-1]}")
        name = self._free.pop()
        yield self.address(name)
        self._execute(name, *EMPTY)
        self._free.append(name)

    def _execute(self, database: str, *statements: str) -> None:
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def address(self, database: str) -> str:
        """Return the address of a database."""
        return f"postgresql://{USER}@/{database}?host={self.folder}"


@contextmanager
def running_cluster(*, fsync: bool = False) -> Iterator[Cluster]:
    """Make a cluster, start it, and remove it at the end; without `fsync` it waits for no disk."""
    # A path of a socket may have about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="comparity-pg-", dir="/tmp") as name:
        folder = Path(name)
        cluster = Cluster(folder)
        if cluster.user:
            shutil.chown(folder, cluster.user)
        trusting = ("-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync")
        cluster.run("initdb", "-D", str(folder / "data"), *trusting)
        cluster.start(fsync=fsync)
        try:
            yield cluster
        finally:
            cluster.stop("immediate")
