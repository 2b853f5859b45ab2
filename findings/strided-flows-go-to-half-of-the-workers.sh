#!/bin/bash
# gopacket 1.7.7 (this year's; the maintained fork).
# Done: packets between hosts of fat-trees of 4-port and 8-port switches, with addresses 10.pod.switch.host, are shared
# out among 2, 4 and 8 workers by the low bits of their network flow's FastHash, as the package's documentation does it:
# those of all pairs of hosts, and those of a pattern in which each host sends to the one half of the hosts further on.
# Expected: about as many flows for each worker, in the pattern as in all pairs.
# Seen: all pairs are spread evenly. Of the pattern's 16 flows, and of its 128, one of two workers gets all, and half of
# four or of eight workers get none. FNV's low bit is the parity of its bytes' low bits, and the hashes of both ends are
# added: as these differ in the pod alone, by an even number, the sum's low bit is the same for each flow.
# Why it matters: patterns with a stride are what such networks are measured with, and their addresses differ in few low
# bits. Half of a collector's workers idle while the others drop packets. The hash's high bits, or a prime number of
# workers, do no better: hash it once more, by another function.
set -Eeuo pipefail
PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[ -n "$(type -P go)" ] || cannot "needs Go"
export GOPATH=$tmp/go GOCACHE=$tmp/cache XDG_CONFIG_HOME=$tmp/config GOTOOLCHAIN=local GOFLAGS=-modcacherw CGO_ENABLED=0
cd "$tmp"
cat >go.mod <<'SCRIPT'
module workers

go 1.25.0

require github.com/gopacket/gopacket v1.7.7
SCRIPT
cat >go.sum <<'SCRIPT'
github.com/gopacket/gopacket v1.7.7 h1:9MaMKsjcFCnUVPI9CHp/ZDhu1SSV+rs0THQ2ztRAqmE=
github.com/gopacket/gopacket v1.7.7/go.mod h1:QKowPlTLrQU2rqV5C5I14Aoaid3l8da3kbddibc/Wgk=
SCRIPT
cat >workers.go <<'SCRIPT'
package main

import (
	"fmt"
	"net"
	"os"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

func hosts(ports int) (all []net.IP) {
	for pod := 0; pod < ports; pod++ {
		for edge := 0; edge < ports/2; edge++ {
			for host := 2; host < 2+ports/2; host++ {
				all = append(all, net.IPv4(10, byte(pod), byte(edge), byte(host)).To4())
			}
		}
	}
	return all
}

// packet is one from a host to another, made and read.
func packet(from, to net.IP) gopacket.Packet {
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: from, DstIP: to}
	udp := &layers.UDP{SrcPort: 5001, DstPort: 5001}
	udp.SetNetworkLayerForChecksum(ip)
	made := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(made, options, ip, udp, gopacket.Payload("data")); err != nil {
		panic(err)
	}
	return gopacket.NewPacket(made.Bytes(), layers.LayerTypeIPv4, gopacket.Default)
}

func main() {
	said := ""
	for _, ports := range []int{4, 8} {
		hosts := hosts(ports)
		for _, workers := range []int{2, 4, 8} {
			pairs, pattern := make([]int, workers), make([]int, workers)
			for i, from := range hosts {
				for j, to := range hosts {
					worker := int(packet(from, to).NetworkLayer().NetworkFlow().FastHash()) & (workers - 1)
					if i < j {
						pairs[worker]++
					}
					if j == (i+len(hosts)/2)%len(hosts) {
						pattern[worker]++
					}
				}
			}
			said += fmt.Sprintf("%3d hosts, %d workers: %v of the pattern, %v of all pairs\n", len(hosts), workers, pattern, pairs)
		}
	}
	fmt.Print(said)
	if said != ` 16 hosts, 2 workers: [0 16] of the pattern, [64 56] of all pairs
 16 hosts, 4 workers: [0 8 0 8] of the pattern, [32 28 32 28] of all pairs
 16 hosts, 8 workers: [0 4 0 4 0 4 0 4] of the pattern, [20 12 16 12 12 16 16 16] of all pairs
128 hosts, 2 workers: [0 128] of the pattern, [4096 4032] of all pairs
128 hosts, 4 workers: [0 64 0 64] of the pattern, [2048 2016 2048 2016] of all pairs
128 hosts, 8 workers: [0 32 0 32 0 32 0 32] of the pattern, [1024 1008 1024 1008 1024 1008 1024 1008] of all pairs
` {
		os.Exit(1)
	}
}
SCRIPT
go build -ldflags="-s -w" -o workers >go.out 2>&1 || cannot "go build: $(tail -n 1 go.out)"
echo "gopacket 1.7.7"
./workers || exit 1
