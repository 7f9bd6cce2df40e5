"""What the program that asks a server is told: the project's configuration with all that it refers to, frozen."""

import base64
import json
import zlib

from pydantic import BaseModel, ConfigDict

from aigon.config.endpoints import Endpoints

VARIABLE = "AIGON_ENDPOINTS"
"""The variable that holds the plan; it is gone before the server starts."""
LARGEST_PLAN = 120_000
"""Characters of that variable: Linux takes 128 KiB for one (MAX_ARG_STRLEN)."""


class EndpointPlan(BaseModel):
    """`names` are those of the requests, `schemas` the documents that their answers have to fit, by their number.

    `documents` are texts of files by path, and schemas of the configuration itself by `#` and a number; `openapi` is
    the name of one. `programs` are folders, relative to the server's, that are searched before PATH.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: Endpoints
    names: list[str] = []
    schemas: dict[int, str] = {}
    openapi: str = ""
    documents: dict[str, str] = {}
    programs: list[str] = []


def pack_plan(plan: EndpointPlan) -> str:
    """Return the plan as one word without braces, in which nobody fills in anything."""
    document = json.dumps(plan.model_dump(by_alias=True, exclude_unset=True), separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(document, 9)).decode()


def unpack_plan(word: str) -> EndpointPlan:
    """Return the plan that `pack_plan` made a word of. Raises ValueError for anything else."""
    try:
        document = zlib.decompress(base64.b64decode(word, validate=True))
    except zlib.error as error:
        raise ValueError(f"not a plan: {error}") from error
    return EndpointPlan.model_validate(json.loads(document))
