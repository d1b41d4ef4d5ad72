#!/usr/bin/env python3
"""The basis work of bench_analysis in NumPy: tokens of chunks by running counts, and attribution under `gap`.

usage: bench_analysis --dump FILE 1000000 && numpy_same.py FILE
Prints its own speed and the attributed energy, which must be bench_analysis's.
"""
import sys
import time

import numpy as np

CHUNK = np.dtype([("t", "<i8"), ("request", "<u4"), ("running", "<i4"), ("bytes", "<u4"), ("kind", "u1"),
                  ("stamp", "u1")])
BUFFER = np.dtype([("us", "<i8"), ("mw", "<i4"), ("pad", "<i4")])


def load(path):
    head = np.fromfile(path, "<u8", 5)
    chunks, requests, samples = (int(x) for x in head[:3])
    with open(path, "rb") as f:
        f.seek(40)
        return (np.fromfile(f, CHUNK, chunks), np.fromfile(f, "<i8", requests), np.fromfile(f, BUFFER, samples),
                int(head[3]), int(head[4]))


def energy_at(buffer, t):
    """Integral of the linearly interpolated power from the first sample to each t, J."""
    bt = buffer["us"] * 1000
    bw = buffer["mw"] / 1000
    step = np.diff(bt) * 1e-9
    cumulative = np.concatenate(([0.0], np.cumsum(step * (bw[1:] + bw[:-1]) / 2)))
    i = np.clip(np.searchsorted(bt, t, "right") - 1, 0, len(bt) - 2)
    dt = (t - bt[i]) * 1e-9
    slope = (bw[i + 1] - bw[i]) / step[i]
    return cumulative[i] + dt * (bw[i] + slope * dt / 2)


def attribute(chunks, usage, buffer, start, end):
    order = np.argsort(chunks["request"], kind="stable")  # by request, then time
    request, t, running = chunks["request"][order], chunks["t"][order], chunks["running"][order].astype("<i8")
    first = np.concatenate(([True], request[1:] != request[:-1]))
    last = np.concatenate((request[1:] != request[:-1], [True]))
    tokens = np.where(first, running, running - np.concatenate(([0], running[:-1])))
    tokens[last] += usage[request[last]] - running[last]
    scale = usage / np.maximum(usage - np.bincount(request[first], tokens[first], len(usage)), 1)
    gap = ~first & (np.bincount(request, minlength=len(usage))[request] > 1)
    g = np.flatnonzero(gap)
    rate = tokens[g] * scale[request[g]] / (t[g] - t[g - 1])
    # R changes at every start and end of a gap.
    times = np.concatenate((t[g - 1], t[g]))
    change = np.concatenate((rate, -rate))
    by_time = np.argsort(times, kind="stable")
    times, total = times[by_time], np.cumsum(change[by_time])
    e = energy_at(buffer, np.clip(times, start, end))
    total[total < 1e-15] = np.inf  # R = 0, but for rounding
    field = np.concatenate(([0.0], np.cumsum(np.diff(e) / total[:-1])))
    at_start = np.searchsorted(times, t[g - 1], "left")
    at_end = np.searchsorted(times, t[g], "left")
    return np.bincount(request[g], rate * (field[at_end] - field[at_start]), len(usage))


def main():
    chunks, usage, buffer, start, end = load(sys.argv[1])
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        energy = attribute(chunks, usage, buffer, start, end)
        best = min(best, time.process_time() - began)
    print(f"numpy   {len(chunks):11d} chunks: basis {len(chunks) / best / 1e6:6.1f} M/s; attributed {energy.sum():.6f} J")


if __name__ == "__main__":
    main()
