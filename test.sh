#!/bin/bash -p
# The main job: ./test.sh TRIALS SECONDS [options] runs patterns x schemes x trials and draws Figure 9.
# Sets itself up when something is missing. As root in real time, as an ordinary user in virtual time. ./test.sh --help teaches.
# ./test.sh --demo is a first look: three runs, about a minute once all is set up.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
extra=()
[[ " $*" != *" --cluster"* ]] || extra=(--cluster)
"$root/setup/install.sh" "${extra[@]}"
env=$(readlink -f "$root/.venv")
command=sweep
[ "${1:-}" != --demo ] || { command=demo; shift; }
exec "$env/bin/python" -I "$env/bin/hedera" "$command" "$@" # -I: nothing of the folder or the environment one stands in
