"""Judges that are programs: they fetch pairs and post answers as JSON, and know what people know.

A call does what the page of the same name does, by the same functions of the store, so that leases,
limits and blindness are those of people. ``static/openapi.json`` describes the calls to machines,
``docs/programs.md`` to people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

from comparity.collect.pages import (
    passes_checks,
    progress_of,
    read_opaque,
    show_picture,
    store_judgment,
)
from comparity.collect.visits import Page, Visit

if TYPE_CHECKING:
    from starlette.responses import Response

    from comparity.collect.joined_judge import Assignment, ItemView

START = "/api/"
"""How the addresses of calls begin."""
WORKING = frozenset({"practice", "judging", "break"})
"""States in which there may be a pair; a break is offered to people only."""


def tell_study(visit: Visit) -> Response:
    """Return what a judge reads before the first pair, and the possible answers."""
    study = visit.store.study
    checks = [{"question": one.question, "answers": list(one.answers)} for one in study.checks]
    task = visit.known_judge.task
    texts = {"instructions": study.instructions_of(task), "question": study.question_of(task)}
    told = {"task": task, "consent": study.consent, **texts, "checks": checks}
    return visit.tell({**told, "outcomes": list(study.outcomes_of(task))})


def tell_progress(visit: Visit) -> Response:
    """Return how far the judge is."""
    return visit.tell(progress_of(visit.known_judge))


def tell_next(visit: Visit) -> Response:
    """Return the pair to be judged, the same one until it is judged; or that there is none."""
    judge = visit.known_judge
    assignment = None
    if judge.state in WORKING:
        assignment = visit.store.next_assignment(judge, now=visit.now)
    return _tell_turn(visit, assignment)


def _tell_turn(visit: Visit, assignment: Assignment | None) -> Response:
    judge = visit.again()
    pair = None if assignment is None else assignment_values(visit, assignment)
    return visit.tell({**progress_of(judge), "assignment": pair})


def assignment_values(visit: Visit, assignment: Assignment) -> dict[str, Any]:
    """Return a pair, or an item to be rated, as a page shows it."""
    study, task = visit.store.study, assignment.task
    sides = {"left": assignment.left, "right": assignment.right}
    shown = sides if task == "compare" else {"item": assignment.left}
    told = {name: item_values(visit, item) for name, item in shown.items()}
    if task == "rate":
        ends = (study.low_label, study.high_label)
        told |= {"low_label": ends[0], "high_label": ends[1]}
    return {
        "id": assignment.public_id,
        "task": task,
        "kind": assignment.kind,
        "number": assignment.number,
        "of": assignment.of,
        "question": study.question_of(task),
        "outcomes": list(study.outcomes_of(task)),
        **told,
    }


def item_values(visit: Visit, item: ItemView) -> list[dict[str, str]]:
    """Return what is shown of an item; pages name a column only where there are several."""
    several = len(item.shown) > 1
    return [
        {
            "name": one.name if several else "",
            "kind": one.kind,
            "text": f"{visit.base}{START}v1/picture/{one.text}"
            if one.kind == "image"
            else one.text,
        }
        for one in item.shown
    ]


def agree(visit: Visit) -> Response:
    """Record that whoever runs the program agrees to the study's terms."""
    visit.store.record_consent(visit.known_judge, now=visit.now)
    return visit.tell(progress_of(visit.again()))


def answer_checks(visit: Visit) -> Response:
    """Compare answers about the task with the study's."""
    passed = passes_checks(visit)
    if passed is None:
        raise HTTPException(400, "bad_form")
    visit.store.record_comprehension(visit.known_judge, passed=passed, now=visit.now)
    return visit.tell({**progress_of(visit.again()), "passed": passed})


def post_judgment(visit: Visit) -> Response:
    """Store an answer; the response is sent after it is on the disk."""
    recorded = store_judgment(visit)
    told = {"is_new": recorded.is_new, "is_right": recorded.is_right, "note": recorded.note}
    return visit.tell({**progress_of(visit.again()), **told})


def take_back(visit: Visit) -> Response:
    """Take back the last answer, if it can be, and tell what is to be judged now."""
    client_id = read_opaque(visit.form, "client_id")
    assignment = visit.store.insert_undo(visit.known_judge, client_id=client_id, now=visit.now)
    return _tell_turn(visit, assignment)


def _get(path: str, handle: Any) -> Page:
    return Page(path=f"{START}v1{path}", method="GET", handle=handle, limit="judge", is_call=True)


def _post(path: str, handle: Any) -> Page:
    return Page(path=f"{START}v1{path}", method="POST", handle=handle, limit="judge", is_call=True)


CALLS = (
    _get("/study", tell_study),
    _get("/progress", tell_progress),
    _get("/next", tell_next),
    _get("/picture/{key}", show_picture),
    _post("/consent", agree),
    _post("/comprehension", answer_checks),
    _post("/judgment", post_judgment),
    _post("/undo", take_back),
)
