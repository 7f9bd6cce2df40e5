"""A project that only make knows how to test: shell scripts."""

from tests.real_projects.kind import Found, Kind, text

KIND = Kind(
    title="Makefile only",
    profile="generic",
    programs=("make",),
    files={
        "Makefile": text("""
            .PHONY: all test lint

            all: greet

            greet: greet.sh
            \tcp greet.sh greet && chmod +x greet

            test:
            \tsh tests/run.sh

            lint:
            \tsh -n greet.sh
        """),
        "greet.sh": '#!/bin/sh\n# Says hello to somebody.\necho "Hello, ${1:-world}!"\n',
        "tests/run.sh": text("""
            set -e
            said=$(sh greet.sh Ada)
            if [ "$said" != "Hello, Ada!" ]; then
                echo "tests/run.sh:3: error: greet.sh said '$said'" >&2
                exit 1
            fi
            echo "all greetings are fine"
        """),
        "README.txt": "make test\n",
    },
    red={"greet.sh": '#!/bin/sh\n# Says hello to nobody.\necho "Hello!"\n'},
    green_finds={"tests": Found("pass"), "lint": Found("pass")},
    red_finds={
        "tests": Found("fail", problems=(("tests/run.sh", 3, ""),), says="greet.sh said 'Hello!'"),
        "lint": Found("pass"),
    },
    absent=("types",),
)
