#!/bin/bash -p
# The main job: ./test.sh TRIALS SECONDS [options] runs patterns x schemes x trials and draws Figure 9.
# Sets itself up when something is missing. As root in real time, as an ordinary user in virtual time. ./test.sh --help teaches.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
extra=()
[[ " $*" != *" --cluster"* ]] || extra=(--cluster)
"$root/setup/install.sh" "${extra[@]}"
env=$(readlink -f "$root/.venv")
exec "$env/bin/python" -I "$env/bin/hedera" sweep "$@" # -I: nothing of the folder or the environment one stands in
