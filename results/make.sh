#!/bin/bash
# results/make.sh: makes what this project keeps of simulations anew, in its own files; some hours of two processors.
# Tables 1, 4, 5 and 6 measure this machine. What is emulated: the README.md of each folder below results says how;
# results/tables.sh makes the tables of it.
set -euo pipefail
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
PATH=$PWD/.venv/bin:$PATH
set -x
hedera figure 3 --out results/simulated
hedera figure 9 --simulated --out results/simulated
hedera figure 10 --out results/simulated
hedera figure 11 --out results/simulated
hedera figure 10 --engines maxmin --schemes spanning-tree --out results/simulated/tree
hedera table 1 --out results/simulated
hedera table 2 --simulated --out results/simulated
hedera table 3 --out results/simulated
hedera table 4 --out results/simulated
hedera table 5 --out results/simulated
hedera table 6 --out results/simulated
hedera explain-ecmp --out results/simulated
S=ecmp,ecmp-polarized,ecmp@unsalted:destination,ecmp@unsalted:edge-pair,spanning-tree,nonblocking
for k in 4 8 16; do hedera figure 10 -k $k --engines maxmin --schemes $S --out results/hashes/larger; done
hedera figure 11 --schemes ecmp,ecmp-polarized,ecmp@unsalted:edge-pair,nonblocking --out results/hashes/larger
hedera explain-gff --out results/runs/explain-gff # one reading; those kept beside it are of a version that had options for them
hedera explain-sa --out results/simulated
hedera explain-sa -k 16 --out results/simulated
hedera flows-per-host --out results/simulated
hedera flows-per-host -k 16 --engines maxmin --out results/simulated
hedera completion --large-flows measured-or-estimated --out results/runs/completion # for its rows; those with emulated or beside are of emulated runs
hedera completion -k 32 --seconds 3 --loads 0.3 --schemes nonblocking,ecmp,hedera-gff --intervals 0.1 --out results/simulated
hedera completion-growth -k 4,8,16 --schemes nonblocking,ecmp,hedera-gff,hedera-sa,docs/examples/plb.py:Plb,docs/examples/conga.py:Conga --out results/runs/growth # results/dynamic/growth has the rows of this and the next two
hedera completion-growth -k 32 --loads 0.3,0.5 --out results/runs/growth-32
hedera completion-growth -k 32 --loads 0.3 --schemes ecmp,docs/examples/plb.py:Plb,docs/examples/conga.py:Conga --out results/runs/growth-32-own
hedera collective table --out results/collectives
hedera hull table 2 --variants conforming --out results/hull
hedera hull table 2 --engine linux --quick --seeds 5 --variants conforming --out results/hull/linux
hedera hull table 2 --engine linux --quick --seeds 5 --schemes tcp --no-sack --variants conforming --out results/hull/linux/no-sack
hedera hull table 2 --engine linux --quick --seeds 5 --schemes tcp --no-tail-loss-probes --variants conforming --out results/hull/linux/no-probes
hedera hull figure 1 --engine linux --seconds 1 --seeds 5 --variants conforming --out results/hull/linux
hedera hull figure 1 --engine linux --link-delay 100us --seconds 0.2 --seeds 10 --schemes dctcp-6k-pacer,hull --variants conforming --out results/hull/linux
hedera hull figure 1 --engine linux --link-delay 100us --seconds 0.5 --seeds 3 --schemes hull --large-segments --variants conforming --out results/hull/far/large-segments
hedera hull figure 1 --link-delay 100us --seconds 0.3 --seeds 3 --schemes hull --prr --variants conforming --out results/hull/far/prr
hedera hull figure 1 --link-delay 100us --seconds 0.3 --seeds 3 --schemes hull --prr --whole-cuts --variants conforming --out results/hull/far/prr-whole-cuts
hedera hull figure 1 --link-delay 100us --seconds 0.3 --seeds 10 --schemes hull --prr --whole-cuts --growth-anew --variants conforming --out results/hull/far/growth-anew
hedera hull figure 4 --engine linux --quick --seeds 5 --variants conforming --schemes tcp,dctcp-30k,hull --out results/hull/linux
hedera hull figure 5 --engine linux --share 0.08 --seeds 5 --variants conforming --out results/hull/linux
hedera hull figure 1 --variants conforming --out results/hull
hedera hull figure 1 --drain 0.95 --schemes hull --out results/hull
hedera hull figure 1 --link-delay 100us --variants conforming --out results/hull
hedera hull figure 4 --schemes tcp,dctcp-30k,hull --out results/hull
hedera hull figure 5 --variants conforming --out results/hull
hedera hull figure 5 --variants reproduction --schemes tcp,dctcp-30k,hull --out results/hull/reproduction
