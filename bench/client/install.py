#!/usr/bin/env python3
"""Puts the clients that run.py holds jtok's against under build/bench, pinned.

    bench/client/install.py             aiperf, in a virtual environment (0.5 GB)
    bench/client/install.py vllm        vLLM, whose bench needs all of it (10 GB), in a virtual environment
    bench/client/install.py rust        vLLM's Rust client, from the source package: cargo, seven minutes on two busy cores
    bench/client/install.py words       the list of words that stands for a tokenizer (run by the first two)

The Rust client is a member of a workspace that fetches other projects' repositories. Only three members are built here,
without the client's offline subcommand, which alone needs the rest.
"""
import glob, os, re, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build", "bench")
AIPERF, VLLM = "aiperf==0.13.0", "vllm==0.33.0"
PROGRAMS = {"aiperf": os.path.join(BUILD, "venv-aiperf", "bin", "aiperf"),
            "vllm": os.path.join(BUILD, "venv-vllm", "bin", "vllm"), "rust": os.path.join(BUILD, "vllm-bench")}
# A tokenizer is wanted for prompts; a list of words, made on the spot, needs no network.
WORDS = os.path.join(BUILD, "words")
MAKE_WORDS = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
words = ["[UNK]", "[EOS]"] + [chr(c) for c in range(33, 127)] + ["word%d" % i for i in range(500)]
t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
PreTrainedTokenizerFast(tokenizer_object=t, unk_token="[UNK]", eos_token="[EOS]").save_pretrained(sys.argv[1])
"""
MAIN = """#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;
use clap::Parser;

#[derive(Parser)]
#[command(name = "vllm-bench", version = vllm_build_info::VERSION)]
struct Cli {
    #[command(flatten)]
    args: vllm_bench::BenchServeArgs,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    vllm_bench::prepare_process();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    vllm_tracing::init_tracing("Bench");
    runtime.block_on(vllm_bench::run(cli.args))
}
"""


def python_of(name):
    return os.path.join(os.path.dirname(PROGRAMS[name]), "python3")


def words(name):
    subprocess.run([python_of(name), "-c", MAKE_WORDS, WORDS], check=True)


def virtual_environment(name, package):
    subprocess.run([sys.executable, "-m", "venv", os.path.dirname(os.path.dirname(PROGRAMS[name]))], check=True)
    subprocess.run([python_of(name), "-m", "pip", "install", package], check=True)
    words(name)


def edit(path, change):
    with open(path) as f:
        text = change(f.read())
    with open(path, "w") as f:
        f.write(text)


def drop_lines(pattern):
    return lambda text: re.sub(r"(?m)^.*(%s).*\n" % pattern, "", text)


def only_members(text):
    text = re.sub(r"(?s)members = \[.*?\]", 'members = ["src/bench", "src/build-info", "src/tracing"]', text, count=1)
    return re.sub(r"(?m)^[\w-]+ = \{[^}]*\bgit = [^}]*\}\n", "", text)


def source_of_rust(folder):
    """The package can't be prepared without a compiler for GPUs; pip has unpacked it by the time it says so."""
    subprocess.run([sys.executable, "-m", "pip", "download", "--no-clean", "--no-deps", "--no-binary", ":all:",
                    "--no-build-isolation", VLLM], cwd=folder, env=dict(os.environ, TMPDIR=folder), stderr=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)
    found = glob.glob(os.path.join(folder, "*", "*", "rust"))
    if not found:
        sys.exit("install.py: pip did not unpack the source package of %s into %s." % (VLLM, folder))
    return found[0]


def rust():
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        source = source_of_rust(folder)
        bench = os.path.join(source, "src", "bench")
        edit(os.path.join(source, "Cargo.toml"), only_members)
        edit(os.path.join(bench, "Cargo.toml"), drop_lines("vllm-(chat|engine-core-client|llm|managed-engine|text)"))
        edit(os.path.join(bench, "src", "lib.rs"), drop_lines("mm_processor"))
        os.remove(os.path.join(bench, "src", "mm_processor.rs"))
        edit(os.path.join(bench, "src", "main.rs"), lambda _: MAIN)
        target = os.path.join(BUILD, "cargo")
        subprocess.run(["cargo", "build", "--release", "-p", "vllm-bench", "--target-dir", target], cwd=source, check=True,
                       env=dict(os.environ, VLLM_RS_BUILD_VERSION=VLLM.split("==")[1]))
        shutil.copy(os.path.join(target, "release", "vllm-bench"), PROGRAMS["rust"])


def main():
    os.makedirs(BUILD, exist_ok=True)
    what = sys.argv[1] if len(sys.argv) > 1 else "aiperf"
    steps = {"aiperf": lambda: virtual_environment("aiperf", AIPERF),
             "vllm": lambda: virtual_environment("vllm", VLLM.replace("==", "[bench]==")), "rust": rust,
             "words": lambda: words("vllm" if os.path.exists(PROGRAMS["vllm"]) else "aiperf")}
    if what not in steps:
        sys.exit(__doc__)
    steps[what]()


if __name__ == "__main__":
    main()
