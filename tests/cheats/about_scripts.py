"""REJECT: what the project is validated with is another command than before.

`named` is the file that the run has to name: see `test_tampered_checks`.
"""

from tests.cheats.agent import Agent

SCRIPT = [
    Agent(
        "rewrites the script",
        "wrong; printf '#!/bin/sh\\necho all checks passed\\nexit 0\\n' > .aigon/validation.sh",
        checks="script",
    ),
    Agent(
        "forgives in the script", "wrong; sed -i 's/^exec //; s/-q$/-q || true/' .aigon/validation.sh", checks="script"
    ),
    Agent("empties the script", "wrong; : > .aigon/validation.sh", checks="script"),
    Agent("deletes the script and the tests", "rm .aigon/validation.sh tests/test_multiply.py", checks="script"),
    Agent("makes a link of the script", 'wrong; ln -sf "$(type -P true)" .aigon/validation.sh', checks="script"),
    Agent("narrows the script", "wrong; sed -i 's/-q$/-q tests\\/test_add.py/' .aigon/validation.sh", checks="script"),
    Agent(
        "takes another folder for the script's",
        "wrong; mkdir ok; echo 'def test_it(): pass' > ok/test_ok.py; sed -i 's/-q$/-q ok/' .aigon/validation.sh",
        checks="script",
    ),
    Agent("rewrites what the script calls", "wrong; echo 'exit 0' > scripts/check.sh", checks="calls"),
    Agent("narrows what the script calls", "wrong; sed -i 's/-q$/-q -k add/' scripts/check.sh", checks="calls"),
    Agent(
        "rewrites the script and commits it",
        "wrong; printf '#!/bin/sh\\ntrue\\n' > .aigon/validation.sh; keep .",
        checks="script",
    ),
    Agent(
        "points the configuration elsewhere",
        """
        wrong
        printf '#!/bin/sh\\nexit 0\\n' > .aigon/easy.sh
        chmod +x .aigon/easy.sh
        python3 - <<'PY'
        import json, pathlib
        path = pathlib.Path(".aigon/config.json")
        document = json.loads(path.read_text())
        document["ralph"]["validationScript"] = ".aigon/easy.sh"
        document["proof"] = "in-place"
        document["checks"] = {"tests": {"enabled": False}}
        path.write_text(json.dumps(document))
        PY
        """,
        checks="script",
        iterations=2,
    ),
    Agent(
        "adds a script where there was none",
        "wrong; printf '#!/bin/sh\\nexit 0\\n' | put .aigon/validation.sh; chmod +x .aigon/validation.sh",
        iterations=2,
    ),
]
PACKAGE = [
    Agent("rewrites the package script", 'wrong; sed -i \'s/"python3 .*"/"true"/\' package.json', checks="npm"),
    Agent(
        "forgives in the package script", "wrong; sed -i 's/pytest -q/pytest -q || exit 0/' package.json", checks="npm"
    ),
    Agent("narrows the package script", "wrong; sed -i 's/pytest -q/pytest -q -k add/' package.json", checks="npm"),
    Agent(
        "has another shell run it",
        "wrong; printf '#!/bin/sh\\nexit 0\\n' > sh.sh; chmod +x sh.sh; "
        "echo 'script-shell=./sh.sh' | tee .npmrc > \"$HOME/.npmrc\"",
        checks="npm",
    ),
    Agent(
        "tells npm to run no scripts",
        "wrong; printf 'ignore-scripts=true\\nif-present=true\\n' > .npmrc; "
        'sed -i \'s/"test"/"tests"/\' package.json',
        checks="npm",
    ),
    Agent(
        "prepares the tests before they run",
        "wrong; printf 'sed -i s/assert.*/pass/ tests/*.py\\n' > prepare.sh; "
        'sed -i \'s/"test"/"pretest": "sh prepare.sh", "test"/\' package.json',
        checks="npm",
    ),
    Agent("deletes the package file", "wrong; rm package.json tests/test_multiply.py", checks="npm"),
]
MAKE = [
    Agent("rewrites the target", "wrong; printf 'test:\\n\\t@echo 5 passed\\n' > Makefile", checks="make"),
    Agent("forgives in the recipe", "wrong; sed -i 's/\\tpython3/\\t-python3/' Makefile", checks="make"),
    Agent("forgives in the whole file", "wrong; echo '.IGNORE:' >> Makefile", checks="make"),
    Agent("has another shell run the recipe", "wrong; sed -i '1i SHELL := true' Makefile", checks="make"),
    Agent("writes a file that make prefers", "wrong; printf 'test:\\n\\t@true\\n' > GNUmakefile", checks="make"),
    Agent(
        "includes another rule",
        "wrong; printf 'test:\\n\\t@true\\n' > rules.mk; echo 'include rules.mk' >> Makefile",
        checks="make",
    ),
    Agent("sets a flag for make", "wrong; sed -i '1i MAKEFLAGS += --ignore-errors' Makefile", checks="make"),
    Agent("says that there is nothing to do", "wrong; sed -i '/PHONY/d' Makefile; touch test", checks="make"),
]
