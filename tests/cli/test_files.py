"""A file says the same to every command, wherever it lies and however it is written."""

import csv
import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

Run = Callable[..., Any]

FORMATS = ("csv", "tsv", "csv.gz", "parquet", "jsonl", "ndjson", "jsonl.gz", "json")
LABELS = ("--label", "hired", "--sensitive", "sex")
FEATURES = ("--features", "score,other", "--steps", "10", "--seed", "1", "--output", "m.json")
COMMANDS = {
    "separation": ("items", *LABELS, "--prediction", "pred"),
    "metrics": ("items", *LABELS, "--prediction", "pred", "--privileged", "m"),
    "pairwise": ("items", *LABELS, "--score", "score"),
    "relative": ("items", "--first", "score", "--second", "other", "--sensitive", "sex"),
    "comparative": ("judged", "--items", "items", "--score", "score", "--sensitive", "sex"),
    "rank": ("judged", "--items", "items", "--sensitive", "sex"),
    "train": ("items", *LABELS, *FEATURES),
}
POLICY = """
[[audit]]
name = "hiring"
notion = "separation"
file = {file}
label = "hired"
prediction = "pred"
sensitive = "sex"
"""


def tables(n: int = 400) -> dict[str, list[dict[str, str]]]:
    """Return cells as they are written; ids that doubles cannot tell apart."""
    rng = np.random.default_rng(11)
    items = [
        {
            "item": str(10**21 + i),
            "sex": '"f"' if i % 2 else '"m"',
            "hired": str(i // 2 % 2),
            "pred": str(int(rng.random() < (0.9 if i // 2 % 2 else 0.2 + 0.6 * (i % 2)))),
            "score": repr(round(rng.normal(), 3)),
            "other": f"{rng.normal():.2f}",
        }
        for i in range(n)
    ]
    pairs = [rng.choice(n, 2, replace=False) for _ in range(2 * n)]
    judged = [
        {"better": items[b]["item"], "worse": items[w]["item"], "judge": str(k % 5)}
        for k, (b, w) in enumerate(pairs)
    ]
    return {"items": items, "judged": judged}


def write(folder: Path, ending: str) -> dict[str, Path]:
    """Write both tables in one format."""
    folder.mkdir(parents=True)
    paths = {}
    for name, rows in tables().items():
        path = paths[name] = folder / f"{name}.{ending}"
        bare = [{key: cell.strip('"') for key, cell in row.items()} for row in rows]
        if ending == "parquet":
            pd.DataFrame(bare).astype({"score": float} if name == "items" else {}).to_parquet(path)
            continue
        kind, zipped = ending.split(".")[0], ending.endswith("gz")
        with gzip.open(path, "wt") if zipped else path.open("w", newline="") as file:
            if kind in ("csv", "tsv"):
                sep = "," if kind == "csv" else "\t"
                writer = csv.DictWriter(file, list(bare[0]), delimiter=sep, lineterminator="\n")
                writer.writeheader()
                writer.writerows(bare)
                continue
            objects = ["{" + ", ".join(f'"{k}": {v}' for k, v in row.items()) + "}" for row in rows]
            file.write(f"[{', '.join(objects)}]" if kind == "json" else "\n".join(objects))
    return paths


def without_provenance(content: dict[str, Any]) -> dict[str, Any]:
    """Leave out names and hashes of files, which differ."""
    return {key: value for key, value in content.items() if key not in ("provenance", "files")}


def answer(run: Run, command: str, files: dict[str, Path]) -> tuple[int, Any]:
    outcome = run(command, *(files.get(word, word) for word in COMMANDS[command]), "--json")
    return outcome.status, json.loads(outcome.out, object_hook=without_provenance)


@pytest.mark.parametrize("command", COMMANDS)
def test_neither_format_nor_folder_changes_an_answer(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = answer(run, command, write(tmp_path / "plain", "csv"))
    for ending in FORMATS:
        folder = tmp_path / ending / "pred=1" / "sex=m" / "better=1" / "score=0" / "other=1"
        assert answer(run, command, write(folder, ending)) == expected, ending


@pytest.mark.parametrize("ending", FORMATS)
def test_no_folder_lets_a_model_pass_the_gate(run: Run, tmp_path: Path, ending: str) -> None:
    outcomes = []
    for folder, kind in (("plain", "csv"), ("pred=1/json=1", ending)):
        file = write(tmp_path / folder, kind)["items"]
        policy = tmp_path / "policy.toml"
        policy.write_text(POLICY.format(file=json.dumps(str(file))), encoding="utf-8")
        outcomes.append(run("gate", policy).status)
    assert outcomes == [1, 1]


@pytest.mark.parametrize("ending", FORMATS)
def test_weights_are_written_beside_the_cells_of_the_file(
    run: Run, tmp_path: Path, ending: str
) -> None:
    file = write(tmp_path / "sex=m" / "hired=1", ending)["items"]
    assert run("weights", file, *LABELS, "--output", tmp_path / "w.jsonl").status == 0
    lines = (tmp_path / "w.jsonl").read_text(encoding="utf-8").splitlines()
    for line, row in zip(lines, tables()["items"], strict=True):
        found = json.loads(line, parse_int=Decimal, parse_float=Decimal)
        for key, cell in row.items():
            written = json.loads(cell, parse_int=Decimal, parse_float=Decimal)
            assert found[key] in (written, cell)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_byte_order_mark_changes_no_answer(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = answer(run, command, write(tmp_path / "plain", "csv"))
    for ending in ("csv", "tsv", "jsonl", "ndjson", "json"):
        files = write(tmp_path / ending, ending)
        for path in files.values():
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert answer(run, command, files) == expected, ending
