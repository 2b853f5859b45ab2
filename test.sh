#!/bin/bash -p
# The main job: ./test.sh TRIALS SECONDS [options] runs patterns x schemes x trials and draws Figure 9.
# Sets itself up when something is missing. As root in real time, as an ordinary user in virtual time. ./test.sh --help teaches.
# ./test.sh --demo is a first look: three runs, about a minute once all is set up.
set -euo pipefail
here=${BASH_SOURCE[0]}
[[ $here == */* ]] || here=./$here
root=$(unset CDPATH; cd -P -- "${here%/*}" && pwd)
. "$root/setup/clean.sh"
command=sweep
[ "${1:-}" != --demo ] || { command=demo; shift; }
if [[ " $* " == *" --help "* ]]; then
    if [ ! -x "$root/.venv/bin/hedera" ]; then
        echo "./test.sh --demo               a first look: three runs and a page"
        echo "./test.sh TRIALS SECONDS       Figure 9, such as ./test.sh 1 10; with sudo in real time, without it in virtual time"
        echo "With --platform pox the controller runs on POX, which is fetched if missing; else on os-ken, if there is no POX."
        echo "Either sets itself up first. From then on .venv/bin/hedera sweep --help has all options."
        exit
    fi
else
    extra=()
    [[ " $* " != *" --cluster"* ]] || extra=(--cluster)
    [[ " $* " != *" --platform pox "* && " $* " != *" --platform=pox "* ]] || extra+=(--pox)
    "$root/setup/install.sh" "${extra[@]}"
fi
env=$(readlink -f "$root/.venv")
exec "$env/bin/python" -I "$env/bin/hedera" "$command" "$@" # -I: nothing of the folder or the environment one stands in
