"""A judge that is a program: fetches pair after pair, asks a function, posts what it says.

Run as ``python examples/program_judge.py http://127.0.0.1:8000/j/TOKEN`` with the link that
``comparity collect judges add study.db --program "name of the model"`` prints. Put the call of
your model into `judge`: it is given the question and what is shown of both items.
"""

import json
import secrets
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

Judge = Callable[[str, str, str], str]


def judge(question: str, left: str, right: str) -> str:
    """Answer ``"left"``, ``"right"``, ``"tie"`` or ``"skip"``; here, the longer text is better."""
    return "left" if len(left) > len(right) else "right" if len(left) < len(right) else "tie"


def ask(link: str, call: str, fields: dict[str, Any] | None = None) -> dict[str, Any]:
    """Call the study; wait and ask again where it says that this was too fast."""
    base, token = link.rsplit("/j/", 1)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = None if fields is None else json.dumps(fields).encode()
    try:
        with urlopen(Request(f"{base}/api/v1/{call}", body, headers)) as answer:
            return dict(json.load(answer))
    except HTTPError as error:
        if error.code != 429:
            raise
        time.sleep(float(error.headers["Retry-After"]))
        return ask(link, call, fields)


def judge_all(link: str, judge: Judge = judge) -> int:
    """Judge until no pair is left; return how many answers are stored."""
    while pair := (turn := ask(link, "next"))["assignment"]:
        left, right = ("\n".join(one["text"] for one in pair[side]) for side in ("left", "right"))
        start = time.monotonic()
        outcome = judge(pair["question"], left, right)
        taken = round(1000 * (time.monotonic() - start))
        answer = {"assignment": pair["id"], "outcome": outcome, "milliseconds": taken}
        ask(link, "judgment", {**answer, "client_id": secrets.token_hex()})
    return int(turn["done"])


if __name__ == "__main__":
    print(judge_all(sys.argv[1]), "judgments stored")
