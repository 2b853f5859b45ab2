# One run inside a guest, and the machine code it compiled: sh job.sh ASKED PYTHON HEDERA RESULTS COMPILED OURS CONTROLLER_S OWNER
# COMPILED is the host's folder of machine code; OURS and CONTROLLER_S are where the harness and the controller, which
# is OWNER's, look for it in here.
asked=$1 python=$2 hedera=$3 results=$4 compiled=$5 ours=$6 controller_s=$7 owner=$8

mkdir -p "$ours" "$controller_s" "$results/compiled" || exit
cp -r "$compiled" "$ours" && cp -r "$compiled" "$controller_s" && chown -R "$owner" "$controller_s" || exit

# A pipe that has both ends in the job itself: its standard input does not end, as it does when a caller is gone.
mkfifo /run/asked && exec 3<>/run/asked && printf '%s\n' "$asked" >&3 || exit

# Root loads no machine code that another user can write, and all on this machine's disk may be a user's. Who that is
# cannot gain by it: root in here is the same user, so the environment is believed as it was made outside.
"$python" -X believed -I "$hedera" cluster job "$results/run" <&3
status=$?

for file in "$ours"/compiled/* "$controller_s"/compiled/*; do
    test -e "$compiled/${file##*/}" || cp "$file" "$results/compiled" 2>/dev/null
done
exit $status
