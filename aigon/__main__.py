"""`python -m aigon`."""

from aigon.cli import main

main()
