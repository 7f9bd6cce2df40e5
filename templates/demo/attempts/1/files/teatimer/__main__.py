"""`python3 -m teatimer TEA` prints how long to steep it."""

import sys

from teatimer import show, steep


def main() -> None:
    """Print one line for the tea that is named on the command line."""
    tea = " ".join(sys.argv[1:])
    try:
        print(f"{tea}: {show(steep(tea))}")
    except LookupError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
