"""Comments and labels on runs, as they are answered."""

from pipelines.server.document.parts import Operation, Page
from pipelines.storage.runs.annotations import Annotation

_RUN = "/api/runs/{run_id}/annotations"
_PAGE = Page(Annotation, "comments and labels")
RECORDS = (Annotation,)
OPERATIONS = (
    Operation("list_annotations", "GET", _RUN, {200: _PAGE}),
    Operation("add_annotation", "POST", _RUN, {201: Annotation}),
    Operation("remove_annotation", "DELETE", _RUN + "/{annotation_id}", {204: None}),
)
