"""`python3 -m teatimer TEA` prints how long to steep it."""

import sys

from teatimer import steep


def main() -> None:
    """Print one line for the tea that is named on the command line."""
    tea = " ".join(sys.argv[1:])
    try:
        print(f"{tea}: {steep(tea)} seconds")
    except LookupError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
