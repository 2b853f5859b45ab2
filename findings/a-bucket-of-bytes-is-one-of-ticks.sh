#!/bin/bash
# vishvananda/netlink 1.3.1 (Linux's links and queues from Go).
# Done: a link gets a token bucket (Tbf) of 10, 100 and 1,000 Mb/s with a Limit of 1,000,000 and a Buffer of 15,000, and
# 100 datagrams of 1,400 bytes and 100 of 100 are sent through it; then the same with the Buffer that the package's
# Xmittime says for 15,000 bytes.
# Expected: the bucket has 15,000 bytes, ten frames, at each rate, and all datagrams pass; Limit is in bytes, too.
# Seen: Buffer is in ticks of 64 ns, as in the kernel, of which the package says nothing. The bucket has 1,200 bytes at
# 10 Mb/s, so that all large datagrams are dropped and the small ones pass, and 120,000 bytes at 1 Gb/s. By Xmittime all
# is as expected. The Buffer of HtbClassAttrs, in the same package, is in bytes.
# Why it matters: a slow link lets pings, handshakes and acknowledgements through and no data, which looks like a broken
# path or MTU; a fast one bursts far beyond the buffers whose queues are to be measured.
set -Eeuo pipefail
PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[ "$EUID" = 0 ] || cannot "needs root"
[ -n "$(type -P go)" ] || cannot "needs Go"
[ -n "$(type -P tc)" ] && [ -n "$(type -P unshare)" ] || cannot "needs iproute2 and util-linux"
export GOPATH=$tmp/go GOCACHE=$tmp/cache XDG_CONFIG_HOME=$tmp/config GOTOOLCHAIN=local GOFLAGS=-modcacherw CGO_ENABLED=0
cd "$tmp"
cat >go.mod <<'SCRIPT'
module bucket

go 1.19

require github.com/vishvananda/netlink v1.3.1

require (
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/sys v0.10.0 // indirect
)
SCRIPT
cat >go.sum <<'SCRIPT'
github.com/vishvananda/netlink v1.3.1 h1:3AEMt62VKqz90r0tmNhog0r/PpWKmrEShJU0wJW6bV0=
github.com/vishvananda/netlink v1.3.1/go.mod h1:ARtKouGSTGchR8aMwmkzC0qiNPrrWO5JS/XMVl45+b4=
github.com/vishvananda/netns v0.0.5 h1:DfiHV+j8bA32MFM7bfEunvT8IAqQ/NzSJHtcmW5zdEY=
github.com/vishvananda/netns v0.0.5/go.mod h1:SpkAiCQRtJ6TvvxPnOSyH3BMl6unz3xZlaprSwhNNJM=
golang.org/x/sys v0.10.0 h1:SqMFp9UcQJZa+pmYuAKjd9xq1f0j5rLcDIk0mj4qAsA=
golang.org/x/sys v0.10.0/go.mod h1:oPkhp1MJrh7nUepCBck5+mAzfO9JrbApNNgaTdGDITg=
SCRIPT
cat >bucket.go <<'SCRIPT'
// bucket MBPS given|xmittime: gives the link "near" a token bucket, and sends through it.
package main

import (
	"net"
	"os"
	"strconv"

	"github.com/vishvananda/netlink"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	mbps, err := strconv.ParseUint(os.Args[1], 10, 64)
	must(err)
	near, err := netlink.LinkByName("near")
	must(err)
	place := netlink.QdiscAttrs{
		LinkIndex: near.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT,
	}
	bucket := &netlink.Tbf{QdiscAttrs: place, Rate: mbps * 1e6 / 8, Limit: 1000000, Buffer: 15000}
	if os.Args[2] == "xmittime" {
		bucket.Buffer = netlink.Xmittime(bucket.Rate, 15000)
	}
	must(netlink.QdiscAdd(bucket))
	flow, err := net.Dial("udp", "10.0.0.2:9")
	must(err)
	for i := 0; i < 100; i++ {
		for _, size := range []int{1400, 100} {
			_, err = flow.Write(make([]byte, size))
			must(err)
		}
	}
}
SCRIPT
go build -ldflags="-s -w" -o bucket >go.out 2>&1 || cannot "go build: $(tail -n 1 go.out)"
unshare --net --pid --fork --kill-child bash -Eeuo pipefail -s >seen 2>said <<'NETWORK' || cannot "$(grep -m 1 . said)"
ip link add near address 02:00:00:00:00:01 type veth peer name far address 02:00:00:00:00:02
ip address add 10.0.0.1/24 dev near
ip link set near up
ip link set far up
ip neighbour add 10.0.0.2 lladdr 02:00:00:00:00:02 dev near nud permanent
declare -A named=([given]='given as 15,000' [xmittime]='by Xmittime')
for buffer in given xmittime; do
    for rate in 10 100 1000; do
        ./bucket $rate $buffer
        sleep 0.5
        tc -s qdisc show dev near >queue
        echo "Buffer ${named[$buffer]}, $rate Mb/s: $(grep -o 'burst [^ ]*' queue), $(grep -o 'dropped [0-9]*' queue)"
        tc qdisc del dev near root
    done
done
NETWORK
echo "vishvananda/netlink 1.3.1"
cat seen
[ "$(<seen)" = "Buffer given as 15,000, 10 Mb/s: burst 1200b, dropped 100
Buffer given as 15,000, 100 Mb/s: burst 12000b, dropped 0
Buffer given as 15,000, 1000 Mb/s: burst 120000b, dropped 0
Buffer by Xmittime, 10 Mb/s: burst 15000b, dropped 0
Buffer by Xmittime, 100 Mb/s: burst 15000b, dropped 0
Buffer by Xmittime, 1000 Mb/s: burst 15000b, dropped 0" ] || exit 1
