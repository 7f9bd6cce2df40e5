"""A FastAPI application: pytest, and a server that is asked."""

from tests.real_projects.kind import Found, Kind, text

MAIN = text('''
    """The service."""

    from fastapi import FastAPI, HTTPException

    from app.notes import Note, Notes

    app = FastAPI(title="Notes")
    notes = Notes()


    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}


    @app.post("/notes", status_code=201)
    def create(note: Note) -> dict[str, object]:
        return {"id": notes.add(note), "text": note.text}


    @app.get("/notes/{number}")
    def read(number: int) -> Note:
        if (note := notes.get(number)) is None:
            raise HTTPException(404, "no such note")
        return note
''')
NOTES = text('''
    """What is kept."""

    from pydantic import BaseModel, Field


    class Note(BaseModel):
        """A text."""

        text: str = Field(min_length=1)


    class Notes:
        """Notes by number."""

        def __init__(self) -> None:
            self._kept: dict[int, Note] = {}

        def add(self, note: Note) -> int:
            number = len(self._kept) + 1
            self._kept[number] = note
            return number

        def get(self, number: int) -> Note | None:
            return self._kept.get(number)
''')

KIND = Kind(
    title="FastAPI app with endpoints",
    profile="api",
    modules=("pytest", "fastapi", "uvicorn"),
    files={
        "requirements.txt": "fastapi\nuvicorn\npytest\n",
        "pytest.ini": "[pytest]\npythonpath = .\ntestpaths = tests\n",
        "app/__init__.py": "",
        "app/main.py": MAIN,
        "app/notes.py": NOTES,
        "tests/test_notes.py": text("""
            import pytest

            from app.notes import Note, Notes


            def test_a_note_can_be_read_again() -> None:
                notes = Notes()
                assert notes.get(notes.add(Note(text="milk"))) == Note(text="milk")


            def test_an_empty_note_is_refused() -> None:
                with pytest.raises(ValueError):
                    Note(text="")
        """),
    },
    config={
        "endpoints": {
            "command": "python -m uvicorn app.main:app --port {port}",
            "ready": "/health",
            "requests": [
                {"path": "/health", "expect": {"json": {"status": "ok"}}},
                {
                    "method": "POST",
                    "path": "/notes",
                    "json": {"text": "milk"},
                    "expect": {"status": 201, "schema": {"type": "object", "required": ["id", "text"]}},
                    "save": {"id": "$.id"},
                },
                {"path": "/notes/${id}", "expect": {"json": {"text": "milk"}}},
                {"path": "/notes/999", "expect": 404},
            ],
        }
    },
    red={
        "app/main.py": MAIN.replace("HTTPException(404", "HTTPException(400"),
        "app/notes.py": NOTES.replace("return number", "return number + 1"),
    },
    green_finds={"tests": Found("pass", (2, 0, 0, 0)), "endpoints": Found("pass", (4, 0, 0, 0))},
    red_finds={
        "tests": Found(
            "fail", (1, 1, 0, 0), (("tests/test_notes.py", 8, "tests/test_notes.py::test_a_note_can_be_read_again"),)
        ),
        "endpoints": Found(
            "fail", (2, 2, 0, 0), (("", 0, "GET /notes/${id}"), ("", 0, "GET /notes/999")), says="expected 404, got 400"
        ),
    },
)
