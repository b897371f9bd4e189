#!/bin/sh
# Writes into results/PROTOCOL what a store holds: runs.csv, table1.csv, compare.csv (published only), table2.csv,
# table3.csv, ranks.csv, ranks.png, and the other figures as far as the store has runs for them.
#
#   results/make.sh STORE published|resampled [options of `oddshot bench figures`]
#
# METHODS=all,ridge+nearest in the environment: further methods in Table 1 and in the ranks.
set -eu
if [ $# -lt 2 ]; then
    echo "usage: $0 STORE published|resampled [options of oddshot bench figures]" >&2
    exit 2
fi
store=$1 protocol=$2
shift 2
out=$(dirname "$0")/$protocol
datasets=outlier,landmine,nbaiot
methods=${METHODS:-all}
mkdir -p "$out"

oddshot bench export --store "$store" --protocol "$protocol" --brief --out "$out/runs.csv"

table() { # which, file, further options
    name=$1 file=$out/$2
    shift 2
    oddshot bench table "$name" --store "$store" --protocol "$protocol" --datasets "$datasets" --methods "$methods" \
        --out "$file" "$@"
}
table 1 table1.csv
if [ "$protocol" = published ]; then table 1 compare.csv --compare paper; fi
table 2 table2.csv
table 3 table3.csv
table ranks ranks.csv

figures() { # names, further options
    names=$1
    shift
    oddshot bench figures --only "$names" --store "$store" --protocol "$protocol" --out "$out" "$@"
}
figures ranks --datasets "$datasets" --methods "$methods"
# Without options, a store that has no runs for any of these is no mistake.
figures spaces,tasks,normals,anomalies "$@" || [ $# -eq 0 ]
