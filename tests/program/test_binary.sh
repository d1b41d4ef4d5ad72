#!/bin/sh
# The program as a file: what it needs where it runs, its size, and what its start costs. usage: test_binary.sh JTOK
set -eu
jtok=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

needed=$(readelf -d "$jtok" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
case $needed in
    "libc.so.6 " | "libc.so.6 libm.so.6 ") ;;
    *) echo "needs more than libc and libm: $needed"; exit 1 ;;
esac

newest=$(objdump -T "$jtok" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -1)
[ "$(printf '%s\n2.34\n' "$newest" | sort -V | tail -1)" = 2.34 ] || { echo "needs GLIBC_$newest, over 2.34"; exit 1; }

strip -o "$scratch/jtok" "$jtok"
size=$(stat -c %s "$scratch/jtok")
[ "$size" -le 2621440 ] || { echo "stripped it has $size bytes, over 2.5 MiB"; exit 1; }

# 5 ms are some 10 million instructions; counted, since a timed test would depend on the machine's other work.
valgrind --tool=callgrind --callgrind-out-file="$scratch/out" "$scratch/jtok" --version >"$scratch/version" 2>"$scratch/log"
count=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$scratch/log")
[ "${count:-0}" -gt 0 ] && [ "$count" -le 1000000 ] || { echo "--version takes ${count:-unknown} instructions"; exit 1; }
grep -q '^jtok [0-9]' "$scratch/version"
echo "needs $needed; up to GLIBC_$newest; $size bytes; --version: $count instructions"
