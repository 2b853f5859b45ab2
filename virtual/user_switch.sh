#!/bin/bash
# Stanford's OpenFlow switch in user space, which no distribution has, for Mininet's `--switch user`: ofdatapath (a
# switch, without a controller), ofprotocol (its connection to one) and dpctl, by whose names this file is called, as
# Open vSwitch carries them out. It speaks OpenFlow 1.0, and knows one controller at a time.
#   ofdatapath -i PORT,... punix:PATH|ptcp:[PORT] -d DPID
#   ofprotocol unix:PATH|tcp:HOST[:PORT] CONTROLLER,... [--fail=closed] [--listen=punix:PATH|ptcp:PORT]
#   dpctl COMMAND unix:PATH|tcp:HOST:PORT [ARGUMENT]
# One Open vSwitch in each network namespace: that of all, or one beside it. Who listens at which address is kept in
# files, one for each switch there: its bridge.
inode=$(stat -L -c %i /proc/self/ns/net) ours=/run/openvswitch vsctl=(ovs-vsctl)
if [ "$inode" != "$(stat -L -c %i /proc/1/ns/net)" ]; then
    ours=/run/ours/switches-$inode vsctl=(/run/ours/ovs-vsctl "--db=unix:/run/ours/switches-$inode/db.sock")
fi
known=/run/ours/user-switches/$inode
mkdir -p "$known" "$ours"
named() { # an address as the name of a file: where one listens, or is called
    case $1 in
    unix:* | punix:*) set -- "unix:${1#*:}" ;;
    ptcp:*) set -- "tcp:${1#*:}" ;;
    tcp:localhost* | tcp:127.*) set -- "tcp:$([[ $1 == *:*:* ]] && echo "${1##*:}")" ;;
    esac
    [ "$1" != tcp: ] || set -- tcp:6633
    echo "${1//\//=}"
}
started() { # Open vSwitch of this namespace; `ovs-vsctl` starts that of all (command.sh)
    [ "$ours" != /run/openvswitch ] && [ ! -S "$ours/db.sock" ] || return 0
    export OVS_RUNDIR=$ours OVS_LOGDIR=$ours OVS_DBDIR=$ours
    ovsdb-tool create "$ours/conf.db" /usr/share/openvswitch/vswitch.ovsschema
    ovsdb-server "$ours/conf.db" "--remote=punix:$ours/db.sock" --pidfile --detach --no-chdir --log-file=/dev/null
    "${vsctl[@]}" --no-wait init
    chrt --fifo 1 ovs-vswitchd "unix:$ours/db.sock" --pidfile --detach --no-chdir --log-file=/dev/null
} >/dev/null 2>&1 </dev/null 9>&-
waiting() { until eval "$1"; do sleep 0.1; done; }

case ${0##*/} in
ofdatapath)
    while [ $# -gt 0 ]; do
        case $1 in
        -i | -d | --interfaces | --datapath-id) declare "${1##*-}=$2" && shift ;;
        --interfaces=* | --datapath-id=*) declare "${1%%=*}=${1#*=}" ;;
        pu* | pt*) at=$(named "$1") ;;
        esac
        shift
    done
    exec 9>"$known/lock" && flock 9 && started && exec 9>&-
    bridge=of$(printf %s "$inode$at" | cksum | cut -c 1-8)
    asked=(--may-exist add-br "$bridge" -- set bridge "$bridge" protocols=OpenFlow10 fail_mode=secure)
    [ -z "$d" ] || asked+=("other-config:datapath-id=$(printf %16s "$d" | tr ' ' 0)")
    number=1
    for port in ${i//,/ }; do # numbered in their order; what tc was told of them stays (linux-noop)
        asked+=(-- add-port "$bridge" "$port" -- "--id=@$number" create qos type=linux-noop -- set port "$port" "qos=@$number")
        asked+=(-- set interface "$port" "ofport_request=$((number++))")
    done
    "${vsctl[@]}" "${asked[@]}" >/dev/null
    echo "$bridge" >"$known/$at"
    trap 'rm -f "$known/$at"; "${vsctl[@]}" --if-exists del-br "$bridge"; kill $!; exit' TERM HUP INT
    sleep infinity &
    wait
    ;;
ofprotocol)
    probe=15 backoff=15 fail=standalone addresses=()
    for word in "$@"; do
        case $word in
        --inactivity-probe=*) probe=${word#*=} ;;
        --max-backoff=*) backoff=${word#*=} ;;
        --fail=closed) fail=secure ;;
        --listen=*) listens=$(named "${word#*=}") ;;
        -*) ;;
        *) addresses+=("$word") ;;
        esac
    done
    # It stands between two ends, and it is no matter which of them is named first.
    waiting '[ -e "$known/$(named "${addresses[0]}")" ] || [ -e "$known/$(named "${addresses[1]}")" ]'
    [ -e "$known/$(named "${addresses[0]}")" ] || addresses=("${addresses[1]}" "${addresses[0]}")
    bridge=$(<"$known/$(named "${addresses[0]}")")
    [ -z "$listens" ] || echo "$bridge" >"$known/$listens"
    trap '[ -z "$listens" ] || rm -f "$known/$listens"; "${vsctl[@]}" del-controller "$bridge" 2>/dev/null; kill $!; exit' TERM HUP INT
    while true; do
        for controller in ${addresses[1]//,/ }; do
            [[ $controller != tcp:* || $controller == *:*:* ]] || controller+=:6633 # Open vSwitch's own is 6653
            "${vsctl[@]}" set bridge "$bridge" fail_mode=$fail -- set-controller "$bridge" "$controller" -- \
                set controller "$bridge" connection-mode=out-of-band inactivity_probe=$((probe * 1000)) max_backoff=$((backoff * 1000))
            # Of a connection Open vSwitch tells within 5 s.
            timeout $((2 * backoff + 6)) "${vsctl[@]}" wait-until controller "$bridge" is_connected=true &
            wait $! || continue
            echo "$controller: connected"
            "${vsctl[@]}" wait-until controller "$bridge" is_connected=false &
            wait $!
            echo "$controller: disconnected"
        done
    done
    ;;
dpctl)
    words=()
    for word in "$@"; do
        case $word in
        unix:* | tcp:*) bridge=$(cat "$known/$(named "$word")" 2>/dev/null) || { echo "dpctl: nobody listens at $word" >&2; exit 1; } ;;
        *) words+=("$word") ;;
        esac
    done
    if [ "${words[0]}" = status ]; then
        echo "local.is-connected=true"
        echo "remote.is-connected=$("${vsctl[@]}" get controller "$bridge" is_connected)"
    else
        OVS_RUNDIR=$ours exec ovs-ofctl -O OpenFlow10 "${words[0]}" "$bridge" "${words[@]:1}"
    fi
    ;;
esac
