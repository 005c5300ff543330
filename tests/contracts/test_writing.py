"""Files are written through one function, which leaves no half of one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import comparity

ROOT = Path(comparity.__file__).parent
SCRIPTS = ROOT.parents[1] / "reproductions"
# Compiled code is a cache: it is renamed into its place too, but never waits for the disk, and a
# failure to write it is no error. The command line opens streams, which are no files.
APART = {
    ROOT / name for name in ("tables/outputs.py", "counts/kernels/compilation.py", "cli/running.py")
}


WAYS = ("open", "savefig", "to_csv", "to_parquet", "write_parquet", "write_bytes", "write_text")


def writes(source: str) -> Iterator[str]:
    """Yield what puts content where a path says, other than the part that replaces a file."""
    for node in ast.walk(ast.parse(source)) if any(way in source for way in WAYS) else ():
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        called = node.func.id if isinstance(node.func, ast.Name) else called
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        modes = [one.value for one in node.args if isinstance(one, ast.Constant)]
        modes += [one.value.value for one in node.keywords if isinstance(one.value, ast.Constant)]
        opens = called in {"open", "fdopen"} and {"w", "wb", "a", "ab", "x", "xb"} & {*modes}
        saves = called in {"savefig", "to_csv", "to_parquet", "write_parquet", "write_bytes"}
        path = owner if opens or called == "write_bytes" else next(iter(node.args), None)
        method = called == "write_text" and owner is not None
        if (opens or saves or method) and not (isinstance(path, ast.Name) and path.id == "part"):
            yield f"{called} in line {node.lineno}"


def test_every_file_is_written_through_one_function() -> None:
    modules = [*ROOT.rglob("*.py"), *SCRIPTS.rglob("*.py")]
    found = {
        str(path): list(writes(path.read_text(encoding="utf-8")))
        for path in modules
        if path not in APART
    }
    assert len(found) > 100
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_other_ways_would_be_noticed() -> None:
    for line in (
        "path.write_text('x')",
        "open(path, 'w')",
        "path.open(mode='wb')",
        "figure.savefig(path)",
    ):
        assert list(writes(line)), line
    for line in ("write_text(path, 'x')", "part.open('wb')", "figure.savefig(part)", "open(path)"):
        assert not list(writes(line)), line
