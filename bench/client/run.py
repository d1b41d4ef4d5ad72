#!/usr/bin/env python3
"""Holds jtok's client against a bare epoll floor, and other tools where they are installed, on one mock server.

    bench/client/run.py                 builds what is missing, runs every case, prints the table
    bench/client/run.py --only 5000     cases whose name contains that
    bench/client/run.py pause           jtok alone with other pauses of its loop
    bench/client/run.py soak --seconds 7200 --streams 2000 [--server HOST:PORT]
    bench/client/run.py install         aiperf, pinned, into build/bench/venv-aiperf; --with-vllm: also vLLM, whose bench needs
                                        all of it (10 GB), into build/bench/venv-vllm

The mock server is pinned to the last core, the client to the others. Each run has its own address 127.0.0.x, so that closed
ports of one run do not block the next. Everything stays on the loopback device.
"""
import argparse, json, os, re, resource, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "bench")
BIN = os.path.join(BUILD, "bin")
AIPERF, VLLM = "aiperf==0.13.0", "vllm==0.24.0"
CASES = [("100 x 2000, 20 ms", 100, 2000, 20000), ("1000 x 200, 50 ms", 1000, 200, 50000),
         ("5000 x 100, 250 ms", 5000, 100, 250000), ("9000 x 20, 1 s", 9000, 20, 1000000)]
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORES = {CORES[-1]}, set(CORES[:-1]) or {CORES[-1]}
place = 1 + os.getpid() % 200


def build():
    subprocess.run(["cmake", "--preset", "bench", "-DJTOK_TESTS=OFF"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "bench_mock", "bench_jtok", "bench_floor"], check=True, stdout=subprocess.DEVNULL)


class Mock:
    """The server, on a fresh address and a fresh map of send times."""

    def __init__(self, streams, chunks, interval_us):
        global place
        place = place % 250 + 1
        self.address, self.port = "127.0.0.%d" % (place + 1), 8000
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.map = os.path.join(self.folder.name, "map")
        self.streams, self.chunks = streams, chunks
        self.process = subprocess.Popen([os.path.join(BIN, "bench_mock"), self.address, str(self.port), self.map,
                                         str(streams), str(chunks), str(interval_us)], stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, SERVER_CORE))
        assert self.process.stdout.readline() == "ready\n", "the mock server did not start"

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def run(mock, program, *extra):
    command = [os.path.join(BIN, program), mock.address, str(mock.port), mock.map, str(mock.streams), str(mock.chunks), *extra]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, CLIENT_CORES))
    return json.loads(done.stdout) if done.stdout else None


def run_tool(mock, command):
    """Another tool: CPU time of its whole process tree, memory of its largest process, from the kernel's account."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.time()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                                   preexec_fn=lambda: os.sched_setaffinity(0, CLIENT_CORES))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        n = mock.streams * mock.chunks
        return dict(chunks=n, failed=None, user_us=usage.ru_utime * 1e6 / n,
                    total_us=(usage.ru_utime + usage.ru_stime) * 1e6 / n, rss_kb=usage.ru_maxrss, wall_s=time.time() - start,
                    text=output.read(), status=process.returncode)


def venv(package, program):
    return os.path.join(BUILD, "venv-" + package.split("==")[0], "bin", program)


def milliseconds(text, pattern):
    found = re.search(pattern, text)
    return float(found.group(1).replace(",", "")) if found else None


# aiperf wants a tokenizer for its prompts; a list of words, made on the spot, needs no network.
TOKENIZER = os.path.join(BUILD, "words")
MAKE_TOKENIZER = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
words = ["[UNK]", "[EOS]"] + [chr(c) for c in range(33, 127)] + ["word%d" % i for i in range(500)]
t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(tokenizer_object=t, unk_token="[UNK]", eos_token="[EOS]").save_pretrained(sys.argv[1])
"""


def run_aiperf(m):
    with tempfile.TemporaryDirectory() as out:
        r = run_tool(m, [venv(AIPERF, "aiperf"), "profile", "--model", "mock", "--url", "http://%s:%d" % (m.address, m.port),
                         "--endpoint-type", "chat", "--streaming", "--request-count", str(m.streams), "--concurrency",
                         str(m.streams), "--isl", "16", "--osl", str(m.chunks), "--tokenizer", TOKENIZER,
                         "--use-server-token-count", "--artifact-dir", out, "--ui", "none"])
        export = os.path.join(out, "profile_export_aiperf.json")
        if os.path.exists(export):
            with open(export) as f:
                found = json.load(f)
            r["ttft_ms"] = found["time_to_first_token"]["p50"]
            r["failed"] = m.streams - int(found["request_count"]["avg"])
        return r


def run_vllm(m):
    r = run_tool(m, [venv(VLLM, "vllm"), "bench", "serve", "--backend", "openai-chat", "--base-url",
                     "http://%s:%d" % (m.address, m.port), "--endpoint", "/v1/chat/completions", "--model", "mock", "--tokenizer",
                     TOKENIZER, "--dataset-name", "random", "--random-input-len", "8", "--random-output-len", str(m.chunks),
                     "--num-prompts", str(m.streams)])
    r["ttft_ms"] = milliseconds(r["text"], r"Median TTFT \(ms\):\s+([\d.,]+)")
    r["failed"] = milliseconds(r["text"], r"Failed requests:\s+([\d.,]+)")
    return r


def other_tools(streams, chunks, interval):
    """Yields name, figures. CPU is the whole process tree's less that of a run of ten streams of two chunks, which is importing
    and reporting; TTFT is the median that the tool prints, less the server's own (100 ms and half an interval)."""
    for name, package, program, tool in (("vllm bench serve", VLLM, "vllm", run_vllm), ("aiperf", AIPERF, "aiperf", run_aiperf)):
        if not os.path.exists(venv(package, program)):
            continue
        with Mock(10, 2, interval) as m:
            idle = tool(m)
        with Mock(streams, chunks, interval) as m:
            r = tool(m)
        for key in ("user_us", "total_us"):
            r[key] -= idle[key] * 20 / (streams * chunks)
        yield name, r


def number(value, digits=1):
    return "-" if value is None else "%.*f" % (digits, value)


def row(case, tool, r):
    if r is None:
        print("%-20s %-17s did not finish" % (case, tool))
        return
    marked = 100.0 * r["exact_marked"] / max(r["exact"], 1) if "exact" in r else None
    print("%-20s %-17s %8s %8s %9s %9s %9s %10s %7s %7s %8.1f %6s %8s" % (
        case, tool, number(r["user_us"], 2), number(r["total_us"], 2), number(r.get("error_p50_us")),
        number(r.get("error_p99_us")), number(r.get("error_max_us")), number(r.get("ttft_error_p50_us")),
        number(r.get("reads_a_chunk"), 2), number(r.get("wakeups_a_chunk"), 2), r["rss_kb"] / 1024,
        number(r.get("failed"), 0), number(marked, 2)), flush=True)


def heading():
    with open("/proc/cpuinfo") as f:
        cpu = re.search(r"model name\s*: (.*)", f.read())
    print("%s, %d cores (%s), Linux %s" % (time.strftime("%Y-%m-%d"), len(CORES), cpu.group(1) if cpu else "?", os.uname().release))
    print("%-20s %-17s %8s %8s %9s %9s %9s %10s %7s %7s %8s %6s %8s" % (
        "case", "client", "user us", "total us", "late p50", "p99", "max us", "TTFT late", "reads", "wakeups", "MB", "failed", "marked %"))
    print("%-20s %-17s %8s %8s %9s %9s %9s %10s %7s %7s" % ("", "", "a chunk", "a chunk", "us", "us", "", "p50", "a chunk", "a chunk"))


def table(only):
    heading()
    for name, streams, chunks, interval in CASES:
        if only not in name:
            continue
        with Mock(streams, chunks, interval) as m:
            floor = run(m, "bench_floor")
        row(name, "floor", floor)
        with Mock(streams, chunks, interval) as m:
            jtok = run(m, "bench_jtok")
        row(name, "jtok", jtok)
        for tool, r in other_tools(streams, chunks, interval):
            if r.get("ttft_ms") is not None:
                r["ttft_error_p50_us"] = (r["ttft_ms"] - 100 - interval / 2000) * 1000
            row(name, tool, r)
        if floor and jtok:
            print("%-20s jtok / floor: total CPU %.2f" % ("", jtok["total_us"] / floor["total_us"]))
    if only in "stalled":
        with Mock(100, 1000, 2000) as m:
            r = run(m, "bench_jtok", "--stall")
        print("100 x 1000, 2 ms, the loop stalled for 20 ms each 60 ms: %d exact (%d of them marked), %d wrong and marked, "
              "%d wrong and not marked; %d held back by the server's kernel" % (
                  r["exact"], r["exact_marked"], r["wrong_marked"], r["wrong_unmarked"], r["held_back"]))


def pauses():
    heading()
    for pause in (0, 100, 200, 400, 600, 800, 950):
        with Mock(5000, 40, 250000) as m:
            row("5000 x 40, 250 ms", "pause %d us" % pause, run(m, "bench_jtok", "--pause", str(pause)))
    for pause in (0, 200, 400, 800, 950):
        with Mock(1000, 100, 50000) as m:
            row("1000 x 100, 50 ms", "pause %d us" % pause, run(m, "bench_jtok", "--pause", str(pause)))


def soak(options):
    if options.server:
        host, port = options.server.rsplit(":", 1)
        return subprocess.run([os.path.join(BIN, "bench_jtok"), host, port, "-", str(options.streams), "100",
                               "--soak", str(options.seconds)]).returncode
    with Mock(options.streams, 100, 100000) as m:
        return subprocess.run([os.path.join(BIN, "bench_jtok"), m.address, str(m.port), m.map, str(m.streams), str(m.chunks),
                               "--soak", str(options.seconds)],
                              preexec_fn=lambda: os.sched_setaffinity(0, CLIENT_CORES)).returncode


def install(with_vllm):
    for package in [AIPERF] + ([VLLM] if with_vllm else []):
        subprocess.run([sys.executable, "-m", "venv", os.path.dirname(os.path.dirname(venv(package, "python3")))], check=True)
        subprocess.run([venv(package, "pip"), "install", package], check=True)
    subprocess.run([venv(AIPERF, "python3"), "-c", MAKE_TOKENIZER, TOKENIZER], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="table", choices=["table", "pause", "soak", "install"])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=7200)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--server", help="soak this server instead of the mock (the simulated engine, for example)")
    parser.add_argument("--with-vllm", action="store_true")
    options = parser.parse_args()
    if options.what == "install":
        return install(options.with_vllm)
    build()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return {"table": lambda: table(options.only), "pause": pauses, "soak": lambda: soak(options)}[options.what]()


if __name__ == "__main__":
    sys.exit(main())
