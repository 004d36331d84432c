#!/bin/sh
# The picture in the README, drawn by the command from the example collection: sh scripts/make_picture.sh
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
cd "$work"
cranfield demo example
cranfield score example/runs --qrels example/qrels.txt -m AP -o scores.csv
cranfield compare scores.csv --plot "$root/docs/figures/intervals.svg"
rm -r "$work"
