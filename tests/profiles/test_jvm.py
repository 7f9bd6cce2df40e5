"""The shipped profiles on Gradle, Maven and Android projects."""

from pathlib import Path

import pytest

from aigon.profiles.protection import Protection
from tests.projects import check, files, names, program, resolved, shipped

TEST = {"src/test/java/demo/CalcTest.java": "class CalcTest {}"}
ANDROID = {
    "settings.gradle.kts": 'include(":app")',
    "build.gradle.kts": "plugins { alias(libs.plugins.android.application) apply false }",
    "gradle/libs.versions.toml": '[plugins]\nandroid-application = { id = "com.android.application", version = "8" }',
    "app/src/test/java/demo/CalcTest.kt": "",
    "gradlew": "",
}


def jvm(root: Path, *programs: str) -> None:
    """A JDK, and these programs, in the folder that `resolved` takes for PATH."""
    for name in ("java", *programs):
        program(root / "bin" / name)


def tasks(root: Path) -> dict[str, list[str]]:
    """What each check asks of Gradle or Maven, without options."""
    return {c.name: [a for a in c.argv[1:] if not a.startswith("-")] for c in resolved(root).checks}


def rules() -> Protection:
    parts = {part.ecosystem.name: part.ecosystem for each in shipped().values() for part in each.parts}
    return Protection(tuple(rule for part in parts.values() for rule in part.protect))


def test_gradle_runs_by_its_wrapper_alone_and_leaves_no_daemon(tmp_path: Path) -> None:
    jvm(tmp_path, "gradle")
    files(tmp_path, {"build.gradle": "apply plugin: 'java'", "gradlew": "", **TEST})
    resolution = resolved(tmp_path)
    assert (resolution.profile, names(resolution)) == ("generic", ["tests", "build"])
    tests = check(resolution, "tests")
    assert tests.argv[:2] == ("./gradlew", "test")
    assert {"--console=plain", "--no-daemon", "--no-build-cache", "--continue"} == set(tests.argv[2:])
    assert (tests.parser, tests.reports) == ("gradle", ("**/build/test-results/**/*.xml",))
    assert check(resolution, "build").argv[:2] == ("./gradlew", "assemble")
    assert all("--no-daemon" in each.argv and each.exclusive and not each.missing for each in resolution.checks)


def test_gradle_from_path_where_there_is_no_wrapper(tmp_path: Path) -> None:
    files(tmp_path, {"settings.gradle.kts": "", **TEST})
    assert check(resolved(tmp_path), "tests").missing == "gradle"
    jvm(tmp_path, "gradle")
    assert check(resolved(tmp_path), "tests").argv[0] == str(tmp_path / "bin/gradle")


def test_a_wrapper_without_a_jdk_is_missing_not_red(tmp_path: Path) -> None:
    files(tmp_path, {"pom.xml": "<project/>", "mvnw": "", **TEST})
    tests = check(resolved(tmp_path), "tests")
    assert (tests.argv[0], tests.missing) == ("./mvnw", "java")
    assert tests.hint.startswith("Install a JDK")


@pytest.mark.parametrize(
    ("build", "check_", "task"),
    [
        ("plugins {\n    id 'checkstyle'\n}", "lint-checkstyle", ["checkstyleMain", "checkstyleTest"]),
        ("plugins {\n    java\n    checkstyle\n}", "lint-checkstyle", ["checkstyleMain", "checkstyleTest"]),
        ("apply plugin: 'checkstyle'", "lint-checkstyle", ["checkstyleMain", "checkstyleTest"]),
        ('plugins { id("io.gitlab.arturbosch.detekt") version "1.23" }', "lint-detekt", ["detekt"]),
        ("plugins {\n  alias(libs.plugins.detekt)\n}", "lint-detekt", ["detekt"]),
        ('plugins { id("org.jlleitschuh.gradle.ktlint") version "12" }', "lint-ktlint", ["ktlintCheck"]),
        ('plugins { id("org.jmailen.kotlinter") version "4" }', "lint-ktlint", ["lintKotlin"]),
        ("spotless {\n  java {}\n}", "lint-spotless", ["spotlessCheck"]),
    ],
)
def test_linters_of_gradle_run_where_their_plugin_is_applied(
    tmp_path: Path, build: str, check_: str, task: list[str]
) -> None:
    jvm(tmp_path)
    files(tmp_path, {"build.gradle": build, "gradlew": ""})
    assert tasks(tmp_path) == {check_: task, "build": ["assemble"]}
    assert "lint" not in [absent.role for absent in resolved(tmp_path).absent]


@pytest.mark.parametrize(
    "build",
    [
        "// id 'checkstyle'\nplugins { id 'java' }",
        'plugins { id("io.gitlab.arturbosch.detekt") version "1" apply false }',
        "def checkstyleVersion = '10'\nspotlessly()",
    ],
)
def test_a_plugin_that_is_only_spoken_of_is_no_linter(tmp_path: Path, build: str) -> None:
    jvm(tmp_path)
    files(tmp_path, {"build.gradle": build, "gradlew": ""})
    resolution = resolved(tmp_path)
    assert names(resolution) == ["build"]
    assert ("lint", "Gradle") in [(absent.role, absent.ecosystem) for absent in resolution.absent]


def test_a_gradle_build_without_test_sources_has_no_tests(tmp_path: Path) -> None:
    jvm(tmp_path)
    files(tmp_path, {"build.gradle": "", "src/main/java/demo/test/Calc.java": "", "src/integration/java/A.java": ""})
    assert "tests" not in tasks(tmp_path)


def test_maven_reads_the_reports_that_surefire_places(tmp_path: Path) -> None:
    jvm(tmp_path, "mvn")
    files(tmp_path, {"pom.xml": "<project/>", **TEST})
    tests = check(resolved(tmp_path), "tests")
    assert tests.argv == (str(tmp_path / "bin/mvn"), "-B", "-ntp", "-fae", "test")
    assert tests.reports == ("**/target/surefire-reports/TEST-*.xml", "**/target/failsafe-reports/TEST-*.xml")
    assert tests.exclusive
    assert check(resolved(tmp_path), "build").argv[1:] == ("-B", "-ntp", "-DskipTests", "package")


def test_maven_goes_on_to_integration_tests_and_linters_that_the_pom_has(tmp_path: Path) -> None:
    jvm(tmp_path)
    plugin = "<plugin>\n<artifactId>{}</artifactId></plugin>"
    plugins = map(plugin.format, ("maven-failsafe-plugin", "maven-checkstyle-plugin", "spotless-maven-plugin"))
    files(tmp_path, {"pom.xml": f"<project>{''.join(plugins)}</project>", "mvnw": "", **TEST})
    assert tasks(tmp_path) == {
        "tests": ["verify"],
        "lint": ["checkstyle:check"],
        "lint-format": ["spotless:check"],
        "build": ["package"],
    }


def test_an_android_app_has_the_tasks_of_its_debug_variant(tmp_path: Path) -> None:
    jvm(tmp_path)
    files(tmp_path, ANDROID)
    resolution = resolved(tmp_path)
    assert resolution.profile == "android"
    assert tasks(tmp_path) == {"tests": ["testDebugUnitTest"], "lint": ["lintDebug"], "build": ["assembleDebug"]}
    assert check(resolution, "lint").reports == ("**/build/reports/lint-results*.xml",)
    assert check(resolution, "tests").timeout == 3600


@pytest.mark.parametrize(
    ("more", "tests"),
    [
        ({"app/build.gradle.kts": "android {\n  productFlavors {}\n}"}, ["test"]),
        ({"core/build.gradle.kts": 'plugins { kotlin("jvm") }'}, ["test"]),
        ({"core/build.gradle.kts": "plugins { `java-library` }"}, ["test"]),
        ({"shared/build.gradle.kts": 'plugins { kotlin("multiplatform") }'}, ["allTests", "testDebugUnitTest"]),
        ({"build.gradle.kts": 'plugins { kotlin("jvm") apply false }'}, ["testDebugUnitTest"]),
    ],
)
def test_no_tests_of_an_android_project_are_left_out(tmp_path: Path, more: dict[str, str], tests: list[str]) -> None:
    jvm(tmp_path)
    files(tmp_path, ANDROID | more)
    assert tasks(tmp_path)["tests"] == tests


def test_kotlin_multiplatform_without_android_runs_all_its_tests(tmp_path: Path) -> None:
    jvm(tmp_path)
    build = 'plugins {\n    id("org.jetbrains.kotlin.multiplatform") version "2"\n}'
    files(tmp_path, {"build.gradle.kts": build, "gradlew": "", "src/commonTest/kotlin/ATest.kt": ""})
    assert (resolved(tmp_path).profile, tasks(tmp_path)["tests"]) == ("generic", ["allTests"])


@pytest.mark.parametrize(
    "root", [{"package.json": '{"dependencies": {"react-native": "1"}}'}, {"pubspec.yaml": "name: app"}]
)
def test_the_android_folder_of_an_app_in_another_language_is_no_android_project(
    tmp_path: Path, root: dict[str, str]
) -> None:
    app = {"android/settings.gradle": "", "android/app/build.gradle": "apply plugin: 'com.android.application'"}
    files(tmp_path, app | root)
    assert resolved(tmp_path).profile != "android"
    assert not any(each.source.endswith("gradle.yaml") for each in resolved(tmp_path).checks)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("src/test/java/demo/CalcTest.java", "tests"),
        ("app/src/androidTest/java/demo/UiTest.kt", "tests"),
        ("shared/src/commonTest/kotlin/ATest.kt", "tests"),
        ("app/src/testDebug/kotlin/ATest.kt", "tests"),
        ("src/main/java/demo/Calc.java", "product"),
        ("config/checkstyle/checkstyle.xml", "config"),
        ("app/detekt.yml", "config"),
        ("gradle/wrapper/gradle-wrapper.properties", "config"),
        ("build.gradle.kts", "config"),
        ("pom.xml", "config"),
        (".mvn/maven.config", "config"),
        ("src/testimonials/Page.tsx", "product"),
        ("src/it/index.html", "product"),
        (".github/workflows/lint.yml", "other"),
        ("test/Demo.Tests/CalcTests.cs", "tests"),
        ("Directory.Build.props", "config"),
        ("AppTests/CalcTests.swift", "tests"),
        ("App.xcodeproj/xcshareddata/xcschemes/App.xcscheme", "config"),
        ("App.xcodeproj/project.pbxproj", "product"),
        ("Tests/DemoTests/__Snapshots__/a.txt", "tests"),
        ("tests/CalcTest.php", "tests"),
        ("phpunit.xml.dist", "config"),
        ("spec/calc_spec.rb", "tests"),
        (".rubocop.yml", "config"),
        ("docs/specs/features/03-in-progress/feature-01-calc.md", "other"),
    ],
)
def test_what_decides_is_protected_and_nothing_else(path: str, part: str) -> None:
    assert rules().part(path) == part


CHECKSTYLE = "<plugin><artifactId>maven-checkstyle-plugin</artifactId>{}</plugin><plugin><configuration/></plugin>"
WITHIN = (
    "<executions><execution><configuration><configLocation>x</configLocation></configuration></execution></executions>"
)


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("", True),
        ("<configuration><configLocation>x</configLocation></configuration>", True),
        ("<version>3</version><configuration>x</configuration>" + WITHIN, True),
        (WITHIN + "<configuration>x</configuration>", True),
        ("<version>3</version>" + WITHIN, False),
    ],
)
def test_checkstyle_with_rules_for_its_executions_alone_is_not_asked_by_name(
    tmp_path: Path, said: str, asked: bool
) -> None:
    files(tmp_path, {"pom.xml": f"<project>{CHECKSTYLE.format(said)}</project>"})
    assert ("lint" in names(resolved(tmp_path))) is asked


def test_flavors_that_a_convention_plugin_makes_are_flavors(tmp_path: Path) -> None:
    files(tmp_path, ANDROID)
    assert tasks(tmp_path)["lint"] == ["lintDebug"]
    files(tmp_path, {"build-logic/convention/src/main/kotlin/x/Flavor.kt": "productFlavors { }"})
    assert (tasks(tmp_path)["lint"], tasks(tmp_path)["tests"]) == (["lint"], ["test"])


def test_a_multiplatform_library_for_android_has_no_debug_variant(tmp_path: Path) -> None:
    kmp = 'plugins { kotlin("multiplatform")\nid("com.android.kotlin.multiplatform.library") }'
    jvm_module = 'plugins {\n  kotlin("jvm")\n}'
    files(tmp_path, ANDROID | {"lib/build.gradle.kts": kmp, "core/build.gradle.kts": jvm_module})
    assert tasks(tmp_path) == {"tests": ["allTests", "test"], "lint": ["lint"], "build": ["assemble"]}


def test_a_pom_that_publishes_to_central_is_a_library(tmp_path: Path) -> None:
    files(tmp_path, {"pom.xml": "<project><artifactId>central-publishing-maven-plugin</artifactId></project>"})
    assert resolved(tmp_path).profile == "library"
