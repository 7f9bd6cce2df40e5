import argparse

parser = argparse.ArgumentParser(prog="tally")
parser.add_argument("--since", help="the first day that counts")
parser.add_argument("--by", choices=["day", "week", "month"], default="week", help="how to group")
parser.add_argument("--json", action="store_true", help="print one JSON document")
