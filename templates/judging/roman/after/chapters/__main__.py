import sys

from chapters.numerals import roman

print(roman(int(sys.argv[1])))
