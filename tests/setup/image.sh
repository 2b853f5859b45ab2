#!/bin/bash
# tests/setup/image.sh: builds the image of this clone's last commit and runs its demonstration in a container, as docs/container.md says,
# but for an engine without privileges: without capabilities, as the image's own user. Status 0 when it has three valid runs.
# Root's, of a Debian with podman, buildah and mmdebstrap (apt-get install --no-install-recommends podman buildah mmdebstrap); some ten minutes.
# buildah's isolation "chroot" takes no rights over cgroups or networks, so that it works within a container as well.
set -euo pipefail
root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d -p /var/tmp hedera-image.XXXXXX) container=
end() {
    [ -z "$container" ] || buildah rm "$container" >/dev/null
    rm -rf "$work"
}
trap end EXIT
base=docker.io/library/debian:trixie-slim
if ! podman image exists "$base" && ! podman pull --quiet "$base"; then # no registry is reached: Debian's archive is
    mmdebstrap --variant=minbase trixie "$work/base.tar" http://deb.debian.org/debian
    podman import "$work/base.tar" "$base"
fi
git clone --quiet "$root" "$work/clone"
# Where a proxy has a certificate of its own, pip in there has to know it as pip out here does.
cp /etc/ssl/certs/ca-certificates.crt "$work/ca.crt"
printf '[global]\ncert = /run/ca.crt\n' >"$work/pip.conf"
podman build --isolation chroot --network host -v "$work/ca.crt:/run/ca.crt:ro" -v "$work/pip.conf:/etc/pip.conf:ro" \
    -t hedera "$work/clone"
hard=$(ulimit -Hn) # of engines, and of logins: 524288
container=$(buildah from --pull-never --cap-drop ALL --ulimit "nofile=${HEDERA_FILES:-1024:$hard}" hedera)
buildah run --isolation chroot --user student "$container" -- sh -c 'ulimit -Sn; ulimit -Hn; exec ./test.sh --demo'
[ "$(buildah run --isolation chroot --user student "$container" -- sh -c 'cat results/runs/*/*/*/*/run.json' | grep -c '"verdict": "ok"')" = 3 ]
