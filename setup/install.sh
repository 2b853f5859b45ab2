#!/usr/bin/env bash
# Installs what is missing, and nothing else: Debian packages with apt, Python packages (pinned in
# requirements.lock) into .venv. Quick when nothing is missing. Debian 12 or Ubuntu 22.04 and later.
# With --check, also what only the checks need (apt-packages-check.txt).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

if [ "$(id -u)" -ne 0 ]; then
    echo "setup/install.sh: needs root to install packages and, later, to make network namespaces: use sudo" >&2
    exit 3
fi
if ! command -v apt-get >/dev/null; then
    echo "setup/install.sh: needs apt-get (Debian 12, Ubuntu 22.04 or later)" >&2
    exit 3
fi

say() { echo "setup: $*" >&2; }

# --- Debian packages -------------------------------------------------------------------------------------
lists=(setup/apt-packages.txt)
if [ "${1:-}" = --check ]; then lists+=(setup/apt-packages-check.txt); fi
mapfile -t wanted < <(cat "${lists[@]}")
missing=()
installed=$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' "${wanted[@]}" 2>/dev/null || true)
for package in "${wanted[@]}"; do
    grep -q "^$package ii" <<<"$installed" || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    if ! { apt-get update -q && apt-get install -q -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        say "apt-get could not install ${missing[*]} (the whole log: $log)"
        exit 3
    fi
    rm -f "$log"
fi

# --- Python packages, on the system's python3, because Mininet is a system package --------------------------
python=/usr/bin/python3
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    say "needs Python 3.10 or later; $python is $("$python" -V)"
    exit 3
fi
stamp="$("$python" -V) $(sha256sum < setup/requirements.lock) $(sha256sum < pyproject.toml) $root"
if [ "$(cat .venv/installed 2>/dev/null)" != "$stamp" ] || ! .venv/bin/python -c '' 2>/dev/null; then
    say "installing the Python packages of setup/requirements.lock into .venv (a minute or so)"
    rm -rf .venv
    "$python" -m venv --system-site-packages .venv
    .venv/bin/pip install --quiet --disable-pip-version-check --requirement setup/requirements.lock
    .venv/bin/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
    echo "$stamp" > .venv/installed
    if [ -n "${SUDO_UID:-}" ]; then chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" .venv ./*.egg-info; fi
fi
