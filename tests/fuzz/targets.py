"""All readers of what others wrote, by name."""

from tests.fuzz import of_answers, of_documents, of_records, of_specs
from tests.fuzz.target import Target

TARGETS = (*of_specs.TARGETS, *of_documents.TARGETS, *of_records.TARGETS, *of_answers.TARGETS)
BY_NAME: dict[str, Target] = {target.name: target for target in TARGETS}
