#!/usr/bin/env python3
"""Runs of one plan against each other (A/A): what does `jtok compare` say where nothing differs?

usage: bench/compare/aa.py BIN RUNS [--count 20] [--at-once 4] [--draws 200]

BIN is the build's bin folder, RUNS a folder for the records. Makes COUNT formal runs of the demo, each under its own
JTOK_SIM_SEED (those that RUNS already holds are kept), and three of an engine whose full steps take a tenth longer. Then
compares each run of the demo with each other one, DRAWS random groups of 3 with 3, 4 with 4 and 4 with 8, and three of
them with the three slower ones, and prints tables. README.md holds the last ones.
"""
import argparse
import itertools
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


SLOWER = range(101, 104)  # their seeds


def demo(jtok, runs, seed):
    command = [jtok, "demo", "--quiet", "--format", "none", "--runs", f"{runs}/{seed:02}"]
    if seed in SLOWER:
        engine = os.path.join(os.path.dirname(jtok), "jtok-sim-engine")
        command += ["--set", f"engine.command=[{engine}, serve, simulated/llama-8b-shape, --max-model-len, 8192, "
                    "--tensor-parallel-size, 1, --sim-start-s, 5, --sim-stop-s, 0.6, --sim-release-s, 1, "
                    "--sim-step-request-s, 0.00005]"]
    environment = dict(os.environ, JTOK_SIM_SEED=str(seed))
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def folder_of(runs, seed):
    base = f"{runs}/{seed:02}"
    names = os.listdir(base) if os.path.isdir(base) else []
    return f"{base}/{names[0]}" if names else None


def compare(jtok, a, b):
    done = subprocess.run([jtok, "compare", "--format", "json", ",".join(a), ",".join(b)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"compare: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)["rows"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("runs")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    jtok = os.path.join(os.path.abspath(options.bin), "jtok")

    seeds = [*range(1, options.count + 1), *SLOWER]
    missing = [s for s in seeds if not folder_of(options.runs, s)]
    with ThreadPoolExecutor(options.at_once) as pool:
        list(pool.map(lambda seed: demo(jtok, options.runs, seed), missing))

    folders, slower = [], []
    for seed in seeds:
        folder = folder_of(options.runs, seed)
        with open(folder + "/result.json") as f:
            result = json.load(f)
        if result["formal"]:
            (slower if seed in SLOWER else folders).append(folder)
        else:
            bad = [c["code"] for c in result["checks"] if c["outcome"] not in ("passed", "not_stated", "not_judged")]
            print(f"seed {seed} is not formal: {', '.join(bad)}")

    pairs = list(itertools.combinations(folders, 2))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda p: compare(jtok, [p[0]], [p[1]]), pairs))
    verdicts = sum(r["verdict"] != "none" for pair in rows for r in pair)
    print(f"{len(folders)} formal runs, {len(pairs)} pairs of single runs: {verdicts} verdicts")

    all_of = compare(jtok, folders[::2], folders[1::2])
    print(f"\nspread (sd) between runs; false differences in {options.draws} random groups of each size, per cent\n")
    print("| metric | sd | 3 + 3 | 4 + 4 | 4 + 8 |\n|---|---|---|---|---|")
    draw = random.Random(1)
    found = {}
    for n, m in ((3, 3), (4, 4), (4, 8)):
        groups = [draw.sample(folders, n + m) for _ in range(options.draws)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda g: compare(jtok, g[:n], g[n:]), groups))
        for row in range(len(all_of)):
            found[row, n, m] = sum(r[row]["verdict"] in ("lower", "higher") for r in results)
    for i, row in enumerate(all_of):
        if row["why"]:
            print(f"| {row['key']} | not compared | | | |")
            continue
        spread = (row["a_runs"]["sd"] + row["b_runs"]["sd"]) / 2 / row["a_runs"]["mean"]
        shares = " | ".join(f"{100 * found[i, n, m] / options.draws:.1f}" for n, m in ((3, 3), (4, 4), (4, 8)))
        print(f"| {row['key']} | {100 * spread:.2f} % | {shares} |")
    row = next(r for r in compare(jtok, folders[:3], slower) if r["key"] == "formal_j_per_token")
    print(f"\nfull steps a tenth longer, 3 + 3: {row['key']} {row['verdict']}, ratio {row['ratio']['value']:.4f}, "
          f"{row['between_runs']['low']:.4f} to {row['between_runs']['high']:.4f}")


if __name__ == "__main__":
    main()
