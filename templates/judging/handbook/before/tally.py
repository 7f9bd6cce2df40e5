import argparse

parser = argparse.ArgumentParser(prog="tally")
parser.add_argument("--since", help="the first day that counts")
