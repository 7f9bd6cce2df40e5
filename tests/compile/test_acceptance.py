"""`aigon spec-compile ID --accept`: a person puts annotations from outside into force."""

from tests.lab import SPEC, Lab

OUTSIDE = "<!-- proposed: verify: rm -f x; test -f done.txt -->"


def outside(lab: Lab) -> Lab:
    lab.spec(f"done {OUTSIDE}", "two <!-- proposed: check: tests -->", "bad <!-- proposed: verfy: x -->")
    lab.commit("spec")
    return lab


def test_a_person_accepts_some_of_them_and_sees_what_they_change(lab: Lab) -> None:
    before = outside(lab).read(SPEC)
    asked = lab.aigon("spec-compile", "42", "--accept")
    assert asked.code == 4 and "needs a person's answer" in asked.err and lab.read(SPEC) == before
    inside = lab.aigon("spec-compile", "42", "--accept", "--yes", env={"AIGON_RUN": "r"})
    assert inside.code == 4 and lab.read(SPEC) == before
    malformed = lab.aigon("spec-compile", "42", "--accept", "--yes")
    assert malformed.code == 2 and "Unknown annotation `verfy`" in malformed.err and lab.read(SPEC) == before
    ran = lab.aigon("spec-compile", "42", "--accept", "1", "2", "--yes")
    assert ran.code == 0 and "It seems to change something: `rm`" in ran.out and "Nothing was committed" in ran.out
    assert lab.read(SPEC) == before.replace("proposed: verify", "verify").replace("proposed: check", "check")
    assert lab.aigon("spec-compile", "42", "--accept", "--yes", "--json").json["error"]["exit_code"] == 2


def test_what_cannot_be_accepted_is_a_usage_error(lab: Lab) -> None:
    outside(lab)
    unknown = lab.aigon("spec-compile", "42", "--accept", "9", "--yes")
    assert unknown.code == 2 and "There is no proposal 9" in unknown.err and "from 1 to 3" in unknown.err
    assert lab.aigon("spec-compile", "42", "1").code == 2
    lab.spec("done <!-- proposed: verify: a\u202eb -->")
    hidden = lab.aigon("spec-compile", "42", "--accept", "--yes")
    assert hidden.code == 2 and "characters that cannot be seen" in hidden.err
    lab.spec("done <!-- verify: true -->")
    none = lab.aigon("spec-compile", "42", "--accept", "--yes")
    assert none.code == 2 and "There is nothing to accept" in none.err
