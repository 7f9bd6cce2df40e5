"""A Go module of two packages with table tests."""

from tests.real_projects.kind import Found, Kind, text

ROMAN = text("""
    // Package roman writes numbers as the Romans did.
    package roman

    import "errors"

    // ErrRange is returned for what cannot be written.
    var ErrRange = errors.New("roman: out of range")

    var signs = []struct {
    \tvalue int
    \tsign  string
    }{{10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}}

    // Numeral writes n.
    func Numeral(n int) (string, error) {
    \tif n < 1 {
    \t\treturn "", ErrRange
    \t}
    \twritten := ""
    \tfor _, s := range signs {
    \t\tfor n >= s.value {
    \t\t\twritten += s.sign
    \t\t\tn -= s.value
    \t\t}
    \t}
    \treturn written, nil
    }
""")
WORDS = text("""
    // Package words counts words.
    package words

    import "strings"

    // Count says how often each word occurs.
    func Count(text string) map[string]int {
    \tfound := map[string]int{}
    \tfor _, word := range strings.Fields(text) {
    \t\tfound[strings.ToLower(word)]++
    \t}
    \treturn found
    }
""")

KIND = Kind(
    title="Go module",
    profile="library",
    programs=("go>=1.22",),
    files={
        "go.mod": "module example.com/numerals\n\ngo 1.22\n",
        "roman/roman.go": ROMAN,
        "roman/roman_test.go": text("""
            package roman

            import (
            \t"errors"
            \t"testing"
            )

            func TestNumeral(t *testing.T) {
            \tfor name, c := range map[string]struct {
            \t\tn    int
            \t\twant string
            \t}{"four": {4, "IV"}, "nine": {9, "IX"}, "twelve": {12, "XII"}} {
            \t\tt.Run(name, func(t *testing.T) {
            \t\t\tgot, err := Numeral(c.n)
            \t\t\tif err != nil || got != c.want {
            \t\t\t\tt.Errorf("Numeral(%d) = %q, want %q", c.n, got, c.want)
            \t\t\t}
            \t\t})
            \t}
            }

            func TestZeroIsRefused(t *testing.T) {
            \tif _, err := Numeral(0); !errors.Is(err, ErrRange) {
            \t\tt.Fatalf("got %v", err)
            \t}
            }
        """),
        "words/words.go": WORDS,
        "words/words_test.go": text("""
            package words

            import "testing"

            func TestCaseDoesNotMatter(t *testing.T) {
            \tif n := Count("Go go GO")["go"]; n != 3 {
            \t\tt.Fatalf("got %d", n)
            \t}
            }

            func TestManyLanguages(t *testing.T) {
            \tt.Skip("one is enough")
            }
        """),
    },
    red={
        "roman/roman.go": ROMAN.replace('{4, "IV"}', '{4, "IIII"}'),
        "words/words.go": WORDS.replace("map[string]int{}", "map[string]int(nil)"),
    },
    green_finds={
        "tests": Found("pass", (6, 0, 1, 0)),
        "lint": Found("pass"),
        "build": Found("pass"),
    },
    red_finds={
        "tests": Found(
            "fail",
            (3, 3, 0, 0),
            (
                ("roman/roman_test.go", 16, "example.com/numerals/roman::TestNumeral/four"),
                ("words/words.go", 10, "example.com/numerals/words::TestCaseDoesNotMatter"),
            ),
        ),
        "lint": Found("pass"),
        "build": Found("pass"),
    },
)
