#!/bin/bash -p
# The main job: ./test.sh TRIALS SECONDS [options] runs patterns x schemes x trials and draws Figure 9.
# Sets itself up when something is missing. ./test.sh --help teaches.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ "$(id -u)" -ne 0 ]; then
    echo "test.sh: network namespaces need root: sudo ./test.sh $*" >&2
    exit 3
fi
extra=()
[[ " $*" != *" --cluster"* ]] || extra=(--cluster)
"$root/setup/install.sh" "${extra[@]}"
env=$(readlink -f "$root/.venv")
exec "$env/bin/python" -I "$env/bin/hedera" sweep "$@" # -I: nothing of the folder or the environment one stands in
