"""Files are written whole or not at all, and never over what is read."""

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from comparity.errors import FileAccessError, SameFileError
from comparity.tables.outputs import check_apart, is_same_file, replace_file, write_csv, write_text

Link = Callable[[Path, Path], object]
LINKS: list[Link] = [
    lambda new, old: new.symlink_to(old),
    lambda new, old: new.hardlink_to(old),
]


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "new", "é\r\n")
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_bytes() == b"\xc3\xa9\r\n"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_a_file_that_exists_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "old"
    file.write_text("old", encoding="utf-8")
    file.chmod(mode)
    write_text(file, "new")
    assert file.read_text(encoding="utf-8") == "new"
    assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_fails_on_the_way_to_the_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = tmp_path / "page.html"
    file.write_text("old", encoding="utf-8")

    def fail(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(FileAccessError, match="No space left on device"):
        write_text(file, "new")
    assert file.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["page.html"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_whatever_ends_the_writing_leaves_the_old_file(
    tmp_path: Path, error: type[BaseException]
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("old", encoding="utf-8")

    def stop() -> None:
        with replace_file(file) as part:
            part.write_text("half", encoding="utf-8")
            raise error

    with pytest.raises(error):
        stop()
    assert file.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("old", encoding="utf-8")
    with replace_file(file) as part:
        part.write_text("new", encoding="utf-8")
        assert (part.parent, part.suffix) == (tmp_path, ".csv")
        assert file.read_text(encoding="utf-8") == "old"
    assert file.read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_and_leads_to_the_new_file(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "page", tmp_path / "link"
    link.symlink_to(target)
    if exists:
        target.write_text("old", encoding="utf-8")
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    write_text(tmp_path / f"{'n' * 250}.html", "new")
    assert len(os.listdir(tmp_path)[0]) == 255


@pytest.mark.parametrize("name", ["no/file", "", "a\0b"])
def test_what_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileAccessError, match="cannot write"):
        write_text(f"{tmp_path}/{name}", "new")
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_read_only_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "old"
    file.write_text("old", encoding="utf-8")
    # An administrator may write everything, and tests may be run by one.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(FileAccessError, match="read-only"):
        write_text(file, "new")
    assert file.read_text(encoding="utf-8") == "old"


def test_a_pipe_gets_everything(tmp_path: Path) -> None:
    pipe, found = tmp_path / "pipe.csv", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_csv(pipe, ["a", "b"], [[1, 2], ["x", "y,z"]])
    reader.join()
    assert found == [b'a,b\r\n1,x\r\n2,"y,z"\r\n']
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    write_text("/dev/null", "nothing")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_sent_to_a_file_is_written_to_and_not_emptied(
    tmp_path: Path, name: str
) -> None:
    program = f"""
from comparity.tables.outputs import write_text
print("before")
write_text({name!r}, "page\\n")
print("after")
"""
    with (tmp_path / "all").open("wb") as sent:
        subprocess.run([sys.executable, "-c", program], stdout=sent, check=True)
    assert (tmp_path / "all").read_text(encoding="utf-8") == "before\npage\nafter\n"


@pytest.mark.parametrize("link", LINKS)
def test_links_do_not_hide_that_two_names_are_one_file(tmp_path: Path, link: Link) -> None:
    file, other = tmp_path / "data.csv", tmp_path / "page.html"
    file.write_text("data", encoding="utf-8")
    link(other, file)
    assert is_same_file(other, file)
    with pytest.raises(SameFileError, match="same file"):
        check_apart(other, [tmp_path / "none", file])


def test_files_to_be_made_are_told_apart_by_where_they_will_be(tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(tmp_path)
    assert is_same_file(tmp_path / "new", tmp_path / "here" / "new")
    assert not is_same_file(tmp_path / "new", tmp_path / "newer")
    assert not is_same_file("/dev/null", "/dev/null")
