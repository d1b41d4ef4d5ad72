#!/bin/sh
# usage: tools/fuzz.sh [-n EXECUTIONS] [TARGET...]
#
# Builds the fuzz targets (clang, preset `fuzz`: ASan and UBSan) and runs them one after the other, each for at least
# EXECUTIONS (10 000 000) inputs of up to 4096 bytes. Seeds: tests/fuzz/corpus/TARGET and, where at hand, the recorded
# answers. Prints what each run did and how its coverage grew over the last tenth. A finding stops the run with libFuzzer's
# report; the input is left in build/fuzz/findings. What grows in build/fuzz/grown/TARGET is scratch:
# `libfuzzer.TARGET -merge=1 tests/fuzz/corpus/TARGET build/fuzz/grown/TARGET` would take over all of it.
set -eu
executions=10000000
while getopts n: option; do
    case $option in
    n) executions=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- http1 sse csv json event response identity
cd "$(dirname "$0")/.."
cmake --preset fuzz >/dev/null
for target; do
    cmake --build --preset fuzz --target fuzz.seeds --target "libfuzzer.$target" >/dev/null
done
shared=$(pwd)/../shared/h200
build/fuzz/bin/fuzz.seeds build/fuzz/seeds "$shared/vllm-0.24.0/http" "$shared/sglang-0.5.16/http"
mkdir -p build/fuzz/findings
for target; do
    mkdir -p "build/fuzz/grown/$target"
    log=build/fuzz/$target.log
    began=$(date +%s)
    # Reports come at powers of two; -runs is the number of executions after the seeds were read.
    nice "build/fuzz/bin/libfuzzer.$target" -runs="$executions" -max_len=4096 -artifact_prefix=build/fuzz/findings/"$target"- \
        -dict="tests/fuzz/$target.dict" -print_final_stats=1 "build/fuzz/grown/$target" "tests/fuzz/corpus/$target" \
        "build/fuzz/seeds/$target" 2>"$log" || { tail -40 "$log"; exit 1; }
    took=$(($(date +%s) - began))
    awk -v target="$target" -v took="$took" '
        match($0, /^#[0-9]+/) && / cov: / {
            run = substr($0, 2, RLENGTH - 1) + 0
            for (i = 1; i < NF; i++) {
                if ($i == "cov:") { last = run; cov[++n] = $(i + 1); at[n] = run }
                if ($i == "ft:") ft[n] = $(i + 1)
            }
        }
        END {
            before = 1
            for (i = 1; i <= n; i++) if (at[i] <= last * 0.9) before = i
            printf "%s: %d executions in %d s, coverage %d, features %d; over the last tenth: coverage %+d, features %+d\n",
                target, last, took, cov[n], ft[n], cov[n] - cov[before], ft[n] - ft[before]
        }' "$log"
done
