#!/bin/sh
# What the tool can do so far, on a small collection that it makes itself.
set -eu
BIN=${BIN:-.venv/bin}

show() {
    printf '\n$ cranfield %s\n' "$*"
    "$BIN/cranfield" "$@"
}

show demo demo
show check demo/runs demo/qrels.txt demo/intents.txt demo/teams.tsv
show pack demo/runs --qrels demo/qrels.txt --intents demo/intents.txt --teams demo/teams.tsv -o demo/demo.cran
show score demo/demo.cran -m AP -m nDCG@10 -m 'RBP(p=0.8)' -m alpha_nDCG@10 -o demo/scores.csv
show compare demo/scores.csv -m AP
show shards demo/demo.cran -s 3 -m AP --anova MD6
show report demo/demo.cran -o demo/report.html
printf '\nPer-topic scores are in demo/scores.csv, and demo/report.html is to be opened in a browser; cranfield --help lists the commands.\n'
