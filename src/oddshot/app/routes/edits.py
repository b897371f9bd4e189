"""Routes that change what a person has said about a table. Each request is one change, which can be undone."""

from typing import Any, Literal

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictBool, StrictInt

from oddshot.app import views
from oddshot.app.edits import Patch
from oddshot.app.flag_changes import compare_flags
from oddshot.app.label_column import describe_label_column, labels_by_choice
from oddshot.app.labels_file import parse_labels_file
from oddshot.app.open_table import OpenTable
from oddshot.app.routes.opened import Session, Table, table_router
from oddshot.app.row_names import check_id_column
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError

MAX_LABELS_FILE_BYTES = 64 * 2**20
MAX_NOTE_CHARACTERS = 2000
_LABELS = {"normal": NORMAL, "anomaly": ANOMALY, None: None}

router = table_router()


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LabelBody(_Body):
    """A row, counted from 0, and its label; null removes the label."""

    row: StrictInt
    label: Literal["normal", "anomaly"] | None


class NoteBody(_Body):
    """A row, counted from 0, and a note on it; an empty one removes the note."""

    row: StrictInt
    note: str = Field(max_length=MAX_NOTE_CHARACTERS)


class ThresholdBody(_Body):
    """The score above which rows are anomalies; null for the detector's own threshold.

    continues: it belongs to the same movement as the request before, and is undone together with that.
    """

    value: FiniteFloat | None
    continues: StrictBool = False


class ColumnBody(_Body):
    """What to change of a column: fields that are not given stay as they are. kind: null to recognise it."""

    name: str
    used: StrictBool | None = None
    hidden: StrictBool | None = None
    pinned: StrictBool | None = None
    kind: str | None = None


class LabelColumnBody(_Body):
    """The column that holds labels, and the label that each of its values means; null for none."""

    name: str
    labels: dict[str, Literal["normal", "anomaly"] | None]


class IdColumnBody(_Body):
    """The column whose values name the rows; null for row numbers."""

    name: str | None


class HistoryBody(_Body):
    """The version of the edits that the person has seen; null for whatever is the latest."""

    version: StrictInt | None = None


@router.post("/label")
def label(session: Session, body: LabelBody) -> dict[str, Any]:
    """Label a row."""
    views.check_rows(session.current, [body.row])
    session.change({"labels": {body.row: _LABELS[body.label]}})
    return views.ranking_state(session)


@router.post("/note")
def note(session: Session, body: NoteBody) -> dict[str, Any]:
    """Write a note on a row."""
    views.check_rows(session.current, [body.row])
    session.change({"notes": {body.row: body.note.strip() or None}})
    return views.ranking_state(session)


@router.post("/undo")
def undo(session: Session, body: HistoryBody | None = None) -> dict[str, Any]:
    """Take the last change back."""
    patch = session.undo(body.version if body else None)
    return {**views.state(session), "touched": _rows_of(patch)}


@router.post("/redo")
def redo(session: Session, body: HistoryBody | None = None) -> dict[str, Any]:
    """Make the change that was undone last again."""
    patch = session.redo(body.version if body else None)
    return {**views.state(session), "touched": _rows_of(patch)}


@router.post("/threshold")
def threshold(session: Session, body: ThresholdBody) -> dict[str, Any]:
    """Move the threshold."""
    setting = None if body.value is None else session.current.make_threshold(body.value).to_setting()
    session.change({"settings": {"threshold": setting}}, continues=body.continues)
    return views.ranking_state(session)


@router.post("/column")
def column(session: Session, body: ColumnBody) -> dict[str, Any]:
    """Use, hide or pin a column, or say of what kind it is. flags: how many rows are flagged now that were not."""
    _check_column(session.current, body.name)
    patch: dict[str, dict[str, Any]] = {}
    if body.used is not None:
        patch["left_out"] = {body.name: None if body.used else True}
    if body.hidden is not None:
        patch["hidden"] = {body.name: body.hidden or None}
    if body.pinned is not None:
        patch["pinned"] = {body.name: body.pinned or None}
    if "kind" in body.model_fields_set:
        patch["kinds"] = {body.name: body.kind}
    if not patch:
        raise InputError("nothing to change: give used, hidden, pinned or kind")
    before = session.current
    session.change(patch)
    flags = None if session.current is before else compare_flags(before, session.current)
    return {**views.state(session), "flags": flags}


@router.get("/label-column")
def label_column(open_table: Table, name: str) -> dict[str, Any]:
    """The values of a column that may hold labels."""
    return describe_label_column(open_table, name)


@router.post("/label-column")
def take_labels(session: Session, body: LabelColumnBody) -> dict[str, Any]:
    """Take the labels from a column."""
    meanings = {value: _LABELS[label] for value, label in body.labels.items()}
    session.change(labels_by_choice(session.current, body.name, meanings))
    return views.state(session)


@router.post("/id-column")
def id_column(session: Session, body: IdColumnBody) -> dict[str, Any]:
    """Choose the column whose values name the rows."""
    if body.name is not None:
        _check_column(session.current, body.name)
        check_id_column(session.current.sheet, body.name)
    session.change({"settings": {"id_column": body.name}})
    return views.state(session)


@router.put("/labels")
async def load(session: Session, request: Request) -> dict[str, Any]:
    """Replace all labels by those of a file, and write its notes; "unknown" counts the names that no row has."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > MAX_LABELS_FILE_BYTES:
            raise InputError(
                f"labels of more than {MAX_LABELS_FILE_BYTES >> 20} MiB; expected a file that the app saved"
            )
    loaded = await run_in_threadpool(parse_labels_file, bytes(data), session.current)
    labels = {**dict.fromkeys(session.current.edits.labels), **loaded.labels}
    await run_in_threadpool(session.change, {"labels": labels, "notes": loaded.notes})
    return {**await run_in_threadpool(views.ranking_state, session), "unknown": loaded.n_unknown}


def _check_column(open_table: OpenTable, name: str) -> None:
    if name not in open_table.sheet.table.column_names:
        raise InputError(f"the table has no column {name[:100]!r}")


def _rows_of(patch: Patch) -> list[int]:
    """The rows that a change concerns."""
    return sorted({*patch.get("labels", ()), *patch.get("notes", ())})
