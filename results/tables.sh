#!/bin/bash
# results/tables.sh FOLDER: makes the tables that this project keeps of kept runs, below FOLDER, with their pictures.
# results/tables.sh: the same, and those files that are kept here are renewed by it.
# What every published sweep has beside its runs (summary.csv, differences.csv, seeds.csv) is made by `hedera report`.
# `hedera claims --tables` holds all of them against the runs.
set -euo pipefail
if [ $# -eq 0 ]; then
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
else
    mkdir -p -- "$1"
    out=$(cd -P -- "$1" && pwd)
fi
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
PATH=$PWD/.venv/bin:$PATH
mkdir -p "$out"/{acknowledgements,conditions,tcp2010}
append() { "$@" | tail -n +2; } # rows without the line of names
# BASE OTHER...: shares under each, and differences from the first, as results/conditions/compared.csv has them.
compare() {
    for other in "${@:2}"; do
        hedera compare "results/$1" "results/$other" --json | python -c '
import json, sys
names = ("seeds", "runs", "share", "difference_points", "low_points", "high_points")
for row in json.load(sys.stdin)["rows"]:
    cells = ("" if row[name] is None else f"{row[name]:.5g}" for name in names)
    print(row["folder"], row["scheme"], *cells, sep=",")'
    done
}
tabulate() { # such rows as a table, in which a base stands once
    echo condition,scheme,seeds,runs,share,difference_points,low_points,high_points
    awk -F, '!seen[$1, $2]++'
}
set -x

A=results/acknowledgements
python -m studies.settled_shares 4 16 $A/hashed $A/with-data > "$out/acknowledgements/shares.csv"
python -m studies.settled_shares 7 9 $A/hashed-1g $A/with-data-1g $A/hashed $A/hashed-1g $A/with-data $A/with-data-1g $A/hashed-1g $A/queue-500-1g $A/hashed-100 $A/hashed-1g $A/others-hashed-1g $A/others-with-data-1g $A/hashed $A/others-hashed-1g $A/with-data $A/others-with-data-1g > "$out/acknowledgements/shares-1g.csv"
python -m studies.acknowledgements $A/hashed $A/with-data $A/hashed-1g $A/with-data-1g $A/queue-500-1g $A/hashed-100 $A/others-hashed-1g $A/others-with-data-1g > "$out/acknowledgements/flows.csv"
python -m studies.starved_flows $A/hashed $A/with-data $A/hashed-1g $A/with-data-1g $A/estimated-1g $A/others-hashed-1g $A/others-with-data-1g > "$out/acknowledgements/starved.csv"

C=results/conditions
{
    python -m studies.settled_shares 7 9 $C/stride4-10s-10 $C/stride4-10s-1000 $C/others-10s-10 $C/others-10s-1000
    append python -m studies.settled_shares 11 19 results/figure9 results/figure9-1g
    append python -m studies.settled_shares 7 33 $C/long-10 $C/long-1000
} > "$out/conditions/steady.csv"
python -m studies.starved_flows $C/long-10 $C/long-1000 > "$out/conditions/starved.csv"
{
    compare conditions/base conditions/{queue-10,queue-200,mtu-9000,reno,dctcp,rate-100,threshold-5,threshold-20}
    compare conditions/others-10s-10 conditions/others-10s-1000
    compare conditions/stride4-10s-10 conditions/stride4-10s-1000
    compare period/interval-2 period/interval-{1,5,10}
} | tabulate > "$out/conditions/compared.csv"

for Q in 8 50; do
    compare tcp2010/today-$Q tcp2010/{no-rack,others,all}-$Q
done | tabulate > "$out/tcp2010/compared.csv"

for K in 8 16; do
    hedera figure 11 "results/figure11/k$K" --out "$out/figure11/k$K"
done

H=results/hull
hedera hull mice $H/mice/{cubic,dctcp,hull}-{10,100,1000} --out "$out/hull/mice"
hedera hull mice $H/mice/{cubic,dctcp}-10 $H/parts/{phantom,pacer} $H/mice/hull-10 --out "$out/hull/parts"
hedera hull mice $H/web/{cubic,dctcp,hull} --out "$out/hull/web"
hedera hull mice $H/web-100/{cubic,dctcp,hull} --out "$out/hull/web-100"

hedera table 2 results/table2 --out "$out/table2"
for N in 2 3 4 5; do hedera figure replication $N results/replication/report --out "$out/replication/report"; done
E=docs/examples/report.py
for N in 2 4; do
    hedera figure replication $N results/replication/faults-tcp --schemes ecmp,$E:BothFaults,$E:Mended,hedera-gff,nonblocking --out "$out/replication/faults-tcp"
done

[ $# -eq 0 ] || exit 0
(cd "$out" && find . -type f) | while read -r file; do
    [ ! -e "results/$file" ] || cp "$out/$file" "results/$file"
done
