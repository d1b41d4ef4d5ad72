#!/usr/bin/env python3
"""Holds jtok's client against a bare epoll floor, and other clients where they are installed, on one mock server.

    bench/client/run.py                 builds what is missing, runs every case, prints the table
    bench/client/run.py --only 5000     cases whose name contains that
    bench/client/run.py --without vllm  and without that client
    bench/client/run.py pause           jtok alone with other pauses of its loop
    bench/client/run.py soak --seconds 7200 --streams 2000 [--server HOST:PORT]

bench/client/install.py installs the others. The mock server is pinned to the last core, the client to the others. Each run has
its own address 127.0.0.x, so that closed ports of one run do not block the next. Everything stays on the loopback device. With
--lock FILE the runs hold an exclusive lock of that file for at most a minute at a time, for a machine that others build on, and
then leave it alone for two minutes; *others* says how much of the machine went elsewhere while a client ran, however quiet it
was meant to be. --under puts a command before server and client ("chrt -f 50").
"""
import argparse, array, fcntl, json, os, re, resource, shlex, subprocess, sys, tempfile, time

import install

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "bench")
BIN = os.path.join(BUILD, "bin")
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORES = {CORES[-1]}, set(CORES[:-1]) or {CORES[-1]}
TICK = os.sysconf("SC_CLK_TCK")
HOLD_S, REST_S = 45, 120


class Case:
    """`load`: a flag of bench_jtok and its value. `all`: other clients are held against it too. Paced answers vary in length."""

    def __init__(self, requests, chunks, interval_ms, load=None, all=False, server=(), poisson=False):
        self.requests, self.chunks, self.interval_us = requests, chunks, interval_ms * 1000
        self.load, self.all, self.server, self.poisson = load, all, list(server), poisson
        what = {None: "burst", "--rate": "%g a second", "--concurrency": "%g in flight"}[load and load[0]]
        self.name = "%s%s, %d x %d, %d ms%s" % (what % load[1] if load else what, ", Poisson" if poisson else "", requests, chunks,
                                                interval_ms, "".join(", " + s.strip("-") for s in server if s.startswith("-")))

    def lengths(self):
        whole, vary = self.chunks, self.load is not None
        return [whole - i * 7919 % 1009 * (whole // 2) // 1009 if vary else whole for i in range(self.requests)]


CASES = [Case(100, 500, 20), Case(1000, 100, 50, all=True), Case(5000, 50, 250, all=True), Case(9000, 20, 1000),
         Case(12, 20, 20, ("--concurrency", 1)), Case(150, 20, 20, ("--concurrency", 8)),
         Case(1000, 20, 20, ("--concurrency", 64), all=True), Case(6000, 20, 20, ("--concurrency", 512)),
         Case(60, 20, 20, ("--rate", 10)), Case(60, 20, 20, ("--rate", 10), poisson=True),
         Case(3000, 20, 20, ("--rate", 500)), Case(3000, 20, 20, ("--rate", 500), all=True, poisson=True),
         Case(12000, 20, 20, ("--rate", 3000)), Case(12000, 20, 20, ("--rate", 3000), poisson=True),
         Case(3000, 20, 20, ("--rate", 500), server=["--stall"], poisson=True),
         Case(400, 50, 20, server=["--fail", "4"], all=True)]
place = 1 + os.getpid() % 200
under = []


def build():
    subprocess.run(["cmake", "--preset", "bench", "-DJTOK_TESTS=OFF"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "bench_mock", "bench_jtok", "bench_floor", "bench_launch"], check=True,
                   stdout=subprocess.DEVNULL)


class Mock:
    """The server, on a fresh address and a fresh map of send times."""

    def __init__(self, streams, chunks, interval_us, extra=()):
        global place
        place = place % 250 + 1
        self.address, self.port = "127.0.0.%d" % (place + 1), 8000
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.map = os.path.join(self.folder.name, "map")
        self.streams, self.chunks = streams, chunks
        self.process = subprocess.Popen([*under, os.path.join(BIN, "bench_mock"), self.address, str(self.port), self.map,
                                         str(streams), str(chunks), str(interval_us), *extra], stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, SERVER_CORE))
        assert self.process.stdout.readline() == "ready\n", "the mock server did not start"

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def times(self):
        """Of each stream: when its request was there, and when its first chunk was sent."""
        with open(self.map, "rb") as f:
            a = array.array("q", f.read())
        row = 1 + 2 * self.chunks
        return [(a[5 + i * row], a[6 + i * row]) for i in range(self.streams)]


class Alone:
    """The lock, for a minute at a time."""

    def __init__(self, path):
        self.file, self.since = open(path, "a") if path else None, None

    def take(self):
        if self.file and self.since is None:
            fcntl.flock(self.file, fcntl.LOCK_EX)
            self.since = time.monotonic()

    def may_end(self):
        if self.since is not None and time.monotonic() - self.since > HOLD_S:
            self.end()
            time.sleep(REST_S)

    def end(self):
        if self.since is not None:
            fcntl.flock(self.file, fcntl.LOCK_UN)
            self.since = None


def busy_s():
    """Of all cores and processes, since the machine started."""
    with open("/proc/stat") as f:
        n = [int(x) for x in f.readline().split()[1:9]]
    return (sum(n) - n[3] - n[4]) / TICK


def cpu_of(pid):
    with open("/proc/%d/stat" % pid) as f:
        n = f.read().rsplit(")", 1)[1].split()
    return (int(n[11]) + int(n[12])) / TICK


def launch(mock, command):
    """The command through bench_launch: what it printed, and what it and its children used."""
    with tempfile.NamedTemporaryFile("r") as used, tempfile.TemporaryFile("w+") as output:
        start, busy, server = time.monotonic(), busy_s(), cpu_of(mock.process.pid)
        subprocess.run([os.path.join(BIN, "bench_launch"), used.name, *under, *command], stdout=output, stderr=subprocess.STDOUT,
                       env=dict(os.environ, HF_HUB_OFFLINE="1"), preexec_fn=lambda: os.sched_setaffinity(0, CLIENT_CORES))
        wall, busy, server = time.monotonic() - start, busy_s() - busy, cpu_of(mock.process.pid) - server
        r = json.load(used)
        output.seek(0)
        r["text"] = output.read()
        r["others"] = max(0, busy - server - r["user_s"] - r["system_s"]) / wall / len(CORES) * 100
        return r


def run(mock, program, *extra):
    r = launch(mock, [os.path.join(BIN, program), mock.address, str(mock.port), mock.map, str(mock.streams), str(mock.chunks),
                      *extra])
    found = re.search(r"^\{.*\}$", r["text"], re.M)
    return dict(json.loads(found.group(0)), rss_kb=r["rss_kb"], others=r["others"]) if found else None


def jtok(case, m):
    extra = [*map(str, case.load), "--vary"] if case.load else []
    r = run(m, "bench_jtok", *extra, *(["--poisson"] if case.poisson else []))
    if r:
        r["requests_s"] = (case.requests - r["failed"]) / r["span_s"]
    return r


# ---- other clients ----

def command_of(name, case, m, folder):
    """Both of vLLM's take the same options."""
    prompts = os.path.join(folder, "prompts.jsonl")
    with open(prompts, "w") as f:
        for n in case.lengths():
            f.write(json.dumps({"prompt": "Write.", "output_tokens": n}) + "\n")
    options = ["--backend", "openai-chat", "--base-url", "http://%s:%d" % (m.address, m.port), "--endpoint",
               "/v1/chat/completions", "--model", "mock", "--tokenizer", install.WORDS, "--dataset-name", "custom",
               "--dataset-path", prompts, "--custom-output-len", "-1", "--skip-chat-template", "--disable-shuffle",
               "--num-prompts", str(case.requests), "--save-result", "--save-detailed", "--result-dir", folder,
               "--result-filename", "result.json", "--ready-check-timeout-sec", "0", "--disable-tqdm"]
    if case.load:
        options += [{"--rate": "--request-rate", "--concurrency": "--max-concurrency"}[case.load[0]], str(case.load[1])]
    return [install.PROGRAMS[name], *(["bench", "serve"] if name == "vllm" else []), *options]


def quantile(values, q):
    return sorted(values)[int(q * (len(values) - 1))] if values else None


def judge_chunks(found, absolute):
    """How late each chunk was, in us: its text is the server's clock as it was sent. Where the client's times have a beginning
    of their own, its least late chunk counts as not late at all."""
    late = []
    for start, ttft, gaps, text in zip(found["start_times"], found["ttfts"], found["itls"], found["generated_texts"]):
        t = start + ttft
        for sent, gap in zip(text.split(), [0, *gaps]):
            t += gap
            late.append(t * 1e6 - int(sent) * 1e-3)
    least = 0 if absolute or not late else min(late)
    return [x - least for x in late]


def judge_ttft(found, m):
    """The client's TTFT less the server's, of each answer that had a first chunk, in us."""
    there = {first: begin for begin, first in m.times() if first}
    firsts = [(ttft, int(text.split()[0])) for ttft, text in zip(found["ttfts"], found["generated_texts"]) if text.strip()]
    return [ttft * 1e6 - (first - there[first]) * 1e-3 for ttft, first in firsts if first in there]


def other(name, case, m):
    with tempfile.TemporaryDirectory() as folder:
        r = launch(m, command_of(name, case, m, folder))
        path = os.path.join(folder, "result.json")
        if not os.path.exists(path):
            print(r["text"][-2000:], file=sys.stderr)
            return None
        with open(path) as f:
            found = json.load(f)
    late, off = judge_chunks(found, name == "vllm"), judge_ttft(found, m)
    n = len(late)
    r.update(chunks=n, user_us=r["user_s"] * 1e6 / n, total_us=(r["user_s"] + r["system_s"]) * 1e6 / n,
             error_p50_us=quantile(late, 0.5), error_p99_us=quantile(late, 0.99), error_max_us=quantile(late, 1),
             ttft_off_p50_us=quantile(off, 0.5), ttft_off_p99_us=quantile(off, 0.99), requests_s=found["request_throughput"],
             failed=found.get("failed", case.requests - found["completed"]))
    return r


def aiperf(case, m):
    with tempfile.TemporaryDirectory() as out:
        r = launch(m, [install.PROGRAMS["aiperf"], "profile", "--model", "mock", "--url", "http://%s:%d" % (m.address, m.port),
                       "--endpoint-type", "chat", "--streaming", "--request-count", str(case.requests), "--concurrency",
                       str(case.requests), "--isl", "16", "--osl", str(case.chunks), "--tokenizer", install.WORDS,
                       "--use-server-token-count", "--artifact-dir", out, "--ui", "none"])
        export = os.path.join(out, "profile_export_aiperf.json")
        if not os.path.exists(export):
            return None
        with open(export) as f:
            found = json.load(f)
    n = case.requests * case.chunks
    r.update(user_us=r["user_s"] * 1e6 / n, total_us=(r["user_s"] + r["system_s"]) * 1e6 / n,
             failed=case.requests - int(found["request_count"]["avg"]),
             ttft_off_p50_us=(found["time_to_first_token"]["p50"] - 100) * 1000 - case.interval_us / 2)
    return r


OTHERS = [("rust", "vllm-bench (Rust)", lambda c, m: other("rust", c, m)), ("vllm", "vllm bench serve", lambda c, m: other("vllm", c, m)),
          ("aiperf", "aiperf", aiperf)]


class Starting:
    """What a client uses for starting and reporting: that of a run of ten answers of two chunks, once."""

    def __init__(self):
        self.known = {}

    def take_off(self, name, tool, r):
        if name not in self.known:
            case = Case(10, 2, 20)
            with Mock(10, 2, 20000) as m:
                self.known[name] = tool(case, m)
        idle = self.known[name]
        for key, share in (("user_us", "user_s"), ("total_us", None)):
            used = idle["user_s"] + (0 if share else idle["system_s"])
            r[key] -= used * 1e6 / (r.get("chunks") or 1)


# ---- tables ----

COLUMNS = [("user_us", "user us", 2), ("total_us", "total us", 2), ("error_p50_us", "late p50", 0), ("error_p99_us", "p99", 0),
           ("ttft_off_p50_us", "TTFT off", 0), ("ttft_off_p99_us", "p99", 0), ("wait_p50_us", "wait p50", 0),
           ("wait_p99_us", "p99", 0), ("wait_max_us", "max", 0), ("most", "most", 0), ("mb", "MB", 1), ("requests_s", "req/s", 1),
           ("failed", "failed", 0), ("reads_a_chunk", "reads", 2), ("wakeups_a_chunk", "wakes", 2), ("marked", "marked %", 2),
           ("others", "others %", 0)]


def heading(title):
    with open("/proc/cpuinfo") as f:
        cpu = re.search(r"model name\s*: (.*)", f.read())
    print("%s, %d cores (%s), Linux %s" % (time.strftime("%Y-%m-%d"), len(CORES), cpu.group(1) if cpu else "?", os.uname().release))
    print(title + ": user, total: us of CPU a chunk; late, TTFT off, wait: us; reads, wakes: a chunk")
    print("%-45s %-18s" % ("case", "client") + "".join(" %9s" % c[1] for c in COLUMNS), flush=True)


def row(case, client, r):
    if r is None:
        print("%-45s %-18s did not finish" % (case, client), flush=True)
        return
    r["mb"] = r["rss_kb"] / 1024
    if "exact" in r:
        r["marked"] = 100.0 * r["exact_marked"] / max(r["exact"], 1)
    cells = ("-" if r.get(key) is None else "%.*f" % (digits, r[key]) for key, _, digits in COLUMNS)
    print("%-45s %-18s" % (case, client) + "".join(" %9s" % c for c in cells), flush=True)


def clients_of(case, without):
    if not case.server and (not case.load or case.load[0] == "--rate"):
        yield "floor", "floor", lambda c, m: run(m, "bench_floor", *map(str, c.load or ()))
    yield "jtok", "jtok", jtok
    if case.all:
        for name, title, tool in OTHERS:
            if os.path.exists(install.PROGRAMS[name]) and name not in without and (name != "aiperf" or not case.load):
                yield name, title, tool


def table(only, without, alone):
    heading("clients")
    starting = Starting()
    for case in CASES:
        if only not in case.name:
            continue
        for name, title, tool in clients_of(case, without):
            alone.take()
            with Mock(case.requests, case.chunks, case.interval_us, case.server) as m:
                r = tool(case, m)
            if r and name in install.PROGRAMS:
                starting.take_off(name, tool, r)
            row(case.name, title, r)
            if r and "hit" in r:
                print("    the server stood still for two seconds: %d requests were hit by it, %d show it" % (r["hit"], r["shown"]))
            alone.may_end()
    alone.take()
    if only in "loop stalled":
        with Mock(100, 1000, 2000) as m:
            r = run(m, "bench_jtok", "--stall")
        print("100 x 1000, 2 ms, the loop stalled for 20 ms each 60 ms: %d exact (%d of them marked), %d wrong and marked, "
              "%d wrong and not marked; %d held back by the server's kernel" % (
                  r["exact"], r["exact_marked"], r["wrong_marked"], r["wrong_unmarked"], r["held_back"]))


def pauses():
    heading("pauses")
    for case, all_us in ((Case(5000, 40, 250), (0, 100, 200, 400, 600, 800, 950)), (Case(1000, 100, 50), (0, 200, 400, 800, 950))):
        for us in all_us:
            with Mock(case.requests, case.chunks, case.interval_us) as m:
                row(case.name, "pause %d us" % us, run(m, "bench_jtok", "--pause", str(us)))


def soak(options):
    if options.server:
        host, port = options.server.rsplit(":", 1)
        return subprocess.run([os.path.join(BIN, "bench_jtok"), host, port, "-", str(options.streams), "100",
                               "--soak", str(options.seconds)]).returncode
    with Mock(options.streams, 100, 100000) as m:
        return subprocess.run([os.path.join(BIN, "bench_jtok"), m.address, str(m.port), m.map, str(m.streams), str(m.chunks),
                               "--soak", str(options.seconds)],
                              preexec_fn=lambda: os.sched_setaffinity(0, CLIENT_CORES)).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="table", choices=["table", "pause", "soak"])
    parser.add_argument("--only", default="")
    parser.add_argument("--without", action="append", default=[], choices=[o[0] for o in OTHERS])
    parser.add_argument("--lock")
    parser.add_argument("--under", default="")
    parser.add_argument("--seconds", type=float, default=7200)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--server", help="soak this server instead of the mock (the simulated engine, for example)")
    options = parser.parse_args()
    under.extend(shlex.split(options.under))
    build()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return {"table": lambda: table(options.only, options.without, Alone(options.lock)), "pause": pauses,
            "soak": lambda: soak(options)}[options.what]()


if __name__ == "__main__":
    sys.exit(main())
