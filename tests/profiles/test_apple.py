"""The shipped profiles on Swift packages and Xcode projects; their commands run with programs that stand in."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from aigon.model.checks import Check
from tests.checks.parsers.captured import captured, read
from tests.projects import check, files, names, program, resolved

PACKAGE = {"Package.swift": "", "Tests/DemoTests/CalcTests.swift": ""}
APP = {"App.xcodeproj/project.pbxproj": "", "AppTests/CalcTests.swift": ""}
DESTINATIONS = """
    Available destinations for the "App" scheme:
        { platform:iOS Simulator, id:dvtdevice-DVTiOSDeviceSimulatorPlaceholder, name:Any iOS Simulator Device }
        { platform:iOS Simulator, arch:arm64, id:AAAAAAAA-0000-0000-0000-000000000001, OS:17.5, name:iPhone 15 }
        { platform:iOS Simulator, arch:arm64, id:AAAAAAAA-0000-0000-0000-000000000002, OS:18.0, name:iPad Air }
        { platform:macOS, arch:arm64, variant:Designed for [iPad,iPhone], id:B, name:My Mac }
    Ineligible destinations for the "App" scheme:
        { platform:iOS Simulator, id:CCCCCCCC-0000-0000-0000-000000000003, OS:16.0, name:iPhone 14 }
"""
XCODEBUILD = """
case "$*" in *showdestinations*) cat "$HERE/destinations"; exit;; esac
echo "$@" > "$HERE/ran"
exit ${EXIT:-65}"""
XCRUN = '[ "$1 $2 $3 $4 $5" = "xcresulttool get test-results tests --path" ] && cat "$HERE/tests.json"'


def ran(root: Path, each: Check, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[bytes]":
    """Run a check's own command as aigon does; its report is `report`."""
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    (root / "scratch").mkdir(exist_ok=True)
    places = {"{scratch}": str(root / "scratch"), "{report}": str(root / "report")}
    argv = [places.get(part, part) for part in each.argv]
    path = f"{root}/bin{os.pathsep}{os.environ['PATH']}"
    everything = {**each.env, "HERE": str(root), "PATH": path, **(env or {})}
    return subprocess.run(argv, cwd=root, env=everything, capture_output=True, check=False)


def xcode(root: Path, destinations: str = DESTINATIONS) -> Check:
    """A check of the tests, with an Xcode that stands in."""
    program(root / "bin/xcodebuild", XCODEBUILD)
    program(root / "bin/xcrun", XCRUN)
    files(root, {"destinations": destinations, "tests.json": captured("xcresult-documented.json").decode()})
    return check(resolved(root), "tests")


def asked(root: Path) -> str:
    """What xcodebuild was asked for, but for the result bundle."""
    return (root / "ran").read_text().partition(" -resultBundlePath")[0]


def test_a_package_is_tested_and_built_with_swift(tmp_path: Path) -> None:
    files(tmp_path, PACKAGE)
    assert {c.name: c.missing for c in resolved(tmp_path).checks} == {"tests": "swift", "build": "swift"}
    swift = program(tmp_path / "bin/swift")
    resolution = resolved(tmp_path)
    assert check(resolution, "build").argv == (swift, "build")
    tests = check(resolution, "tests")
    assert (tests.parser, tests.shown, tests.exclusive) == ("swifttest", "swift test", True)


def test_the_report_of_swift_test_is_its_text_and_the_xml_of_swift_testing(tmp_path: Path) -> None:
    xml = '<?xml version="1.0"?>\n<testsuites><testcase classname="A" name="b()"/></testsuites>'
    files(tmp_path, {**PACKAGE, "text": captured("swifttest-documented-macos.txt").decode(), "xml": xml})
    program(tmp_path / "bin/swift", 'cat "$HERE/text"; cp "$HERE/xml" "${3%.xml}-swift-testing.xml"; exit 1')
    done = ran(tmp_path, check(resolved(tmp_path), "tests"))
    report = (tmp_path / "report").read_bytes()
    assert (done.returncode, report.startswith(done.stdout)) == (1, True)
    found = read("swifttest", b"", report)
    assert {"A::b()", "DemoTests.CalcTests.testAdds"} <= found.tests.keys()
    assert "adds()" not in found.tests


def test_a_swift_test_that_prints_a_report_of_its_own_is_not_believed(tmp_path: Path) -> None:
    files(tmp_path, PACKAGE)
    fake = '<?xml version="1.0"?>\n<testsuites><testcase classname="A" name="fake"/></testsuites>'
    begun = "Test Suite 'All tests' started at now"
    program(tmp_path / "bin/swift", f"printf '%s\\n' \"{begun}\" '{fake}'")
    assert ran(tmp_path, check(resolved(tmp_path), "tests")).returncode == 0
    found = read("swifttest", b"", (tmp_path / "report").read_bytes())
    assert (found.summary, found.tests) == ("no tests collected", {})


def test_formatters_and_linters_of_swift_run_where_they_are_configured(tmp_path: Path) -> None:
    files(tmp_path, {**PACKAGE, ".swiftlint.yml": "", ".swift-format": "{}"})
    swift = program(tmp_path / "bin/swift")
    assert check(resolved(tmp_path), "lint").missing == "swiftlint"
    assert check(resolved(tmp_path), "lint-format").argv[:3] == (swift, "format", "lint")
    own = program(tmp_path / "bin/swift-format")
    assert check(resolved(tmp_path), "lint-format").argv[:2] == (own, "lint")


@pytest.mark.parametrize("folder", ["", "ios/"])
def test_an_xcode_project_is_an_ios_app_whose_checks_are_missing_elsewhere(tmp_path: Path, folder: str) -> None:
    files(tmp_path, {folder + name: text for name, text in APP.items()})
    resolution = resolved(tmp_path)
    assert (resolution.profile, names(resolution)) == ("ios", ["tests", "build"])
    assert {each.missing for each in resolution.checks} == {"xcodebuild"}
    assert all("runs on macOS only" in each.hint for each in resolution.checks)


@pytest.mark.parametrize(
    "other",
    [
        {"package.json": '{"dependencies": {"react-native": "1"}}'},
        {"package.json": '{"dependencies": {"expo": "1"}}'},
        {"pubspec.yaml": "name: app"},
        {"Package.swift": ""},
    ],
)
def test_an_xcode_project_that_is_a_part_of_something_else_is_no_ios_app(tmp_path: Path, other: dict[str, str]) -> None:
    files(tmp_path, {f"ios/{name}": text for name, text in APP.items()} | other)
    resolution = resolved(tmp_path)
    assert resolution.profile != "ios"
    assert not any(each.source.endswith("xcode.yaml") for each in resolution.checks)


def test_xcodebuild_tests_the_only_scheme_and_reports_by_its_bundle(tmp_path: Path) -> None:
    files(tmp_path, {**APP, "App.xcodeproj/xcshareddata/xcschemes/Everything.xcscheme": ""})
    done = ran(tmp_path, xcode(tmp_path))
    wanted = "test -project App.xcodeproj -scheme Everything -destination id=AAAAAAAA-0000-0000-0000-000000000001"
    assert (done.returncode, asked(tmp_path)) == (65, wanted)
    assert read("xcresult", done.stdout, (tmp_path / "report").read_bytes()).summary.startswith("2/5 passed")


def test_a_workspace_comes_before_projects_and_its_name_picks_the_scheme(tmp_path: Path) -> None:
    scheme = "App.xcodeproj/xcshareddata/xcschemes/{}.xcscheme"
    files(tmp_path, {**APP, "App.xcworkspace/contents.xcworkspacedata": "", "Other.xcodeproj/project.pbxproj": ""})
    files(tmp_path, {scheme.format("App"): "", scheme.format("Other"): ""})
    tests = xcode(tmp_path, "{ platform:macOS, arch:arm64, id:B, name:My Mac }")
    assert ran(tmp_path, tests, {"EXIT": "0"}).returncode == 0
    assert asked(tmp_path) == "test -workspace App.xcworkspace -scheme App -destination platform=macOS"
    ran(tmp_path, check(resolved(tmp_path), "build"))
    assert asked(tmp_path).startswith("build -workspace App.xcworkspace -scheme App ")


def test_what_the_environment_says_comes_before_what_is_found(tmp_path: Path) -> None:
    files(tmp_path, {**APP, "My Other.xcodeproj/project.pbxproj": ""})
    tests = xcode(tmp_path, "")
    done = ran(tmp_path, tests)
    assert (done.returncode, (tmp_path / "ran").exists()) == (65, False)
    said = b"error: more than one project (App.xcodeproj My Other.xcodeproj): say which"
    assert done.stderr.startswith(said)
    env = {"XCODE_PROJECT": "My Other.xcodeproj", "XCODE_SCHEME": "Mine", "XCODE_DESTINATION": "platform=macOS"}
    ran(tmp_path, tests, env)
    assert asked(tmp_path) == "test -project My Other.xcodeproj -scheme Mine -destination platform=macOS"


def test_nothing_to_run_on_and_an_old_xcode_are_said(tmp_path: Path) -> None:
    files(tmp_path, APP)
    done = ran(tmp_path, xcode(tmp_path, "nothing"))
    assert done.stderr.startswith(b"error: nothing to run the scheme App on")
    tests = xcode(tmp_path)
    program(tmp_path / "bin/xcrun", "exit 64")
    done = ran(tmp_path, tests, {"EXIT": "0"})
    assert b"Xcode 16 or newer is needed" in done.stderr
    assert (tmp_path / "report").read_bytes() == b""
