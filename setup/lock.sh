#!/usr/bin/env bash
# Writes the locks anew from pyproject.toml: the newest versions, with hashes, for Python 3.10 and later on any
# machine. requirements.lock is what test.sh needs; requirements-cluster.lock what --cluster needs as well,
# requirements-check.lock what checks need, and requirements-measure.lock has every extra, in the same versions.
# Needs uv (pip install uv). Options go to it: setup/lock.sh --upgrade-package numpy; without, nothing moves needlessly.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Wheels alone, so that nothing is built where they are installed. os-ken asks for ovs, which has none; it needs it
# for its OVSDB service, and Cosmic Ray for yattag for its web pages, neither of which we use.
without=$(mktemp)
trap 'rm -f "$without"' EXIT
printf "%s; python_version < '3'\n" ovs yattag > "$without"
lock() {
    uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --only-binary :all: \
        --override "$without" --no-header pyproject.toml "$@"
}
lock --extra build --output-file setup/requirements.lock "$@"
lock --extra build --extra cluster --extra site --extra test --constraint setup/requirements.lock --output-file setup/requirements-check.lock "$@"
lock --all-extras --constraint setup/requirements-check.lock --output-file setup/requirements-measure.lock "$@"
lock --extra build --extra cluster --constraint setup/requirements-check.lock --output-file setup/requirements-cluster.lock "$@"
