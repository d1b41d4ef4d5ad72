#include <stdio.h>
#include <string.h>
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/exit.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

static const struct command commands[] = {
    {"run", cmd_run, "take an inference service through one whole life on real GPUs and record it"},
    {"demo", cmd_demo, "the same on the built-in simulated engine and GPU: no hardware needed"},
    {"doctor", cmd_doctor, "what this machine can measure, what is missing and how to get it"},
    {"report", cmd_report, "print the stored result of a run: text, JSON, CSV or a picture"},
    {"analyze", cmd_analyze, "compute the result again from the records, under any reading of the method"},
    {"verify", cmd_verify, "check a run's seal and recompute its result byte for byte"},
    {"compare", cmd_compare, "two set-ups side by side, one run each or repetitions, where the method allows it"},
    {"gate", cmd_gate, "pass or fail a candidate against a base by one metric and a limit"},
    {"rank", cmd_rank, "models by their energy per output token, within size groups"},
    {"list", cmd_list, "the runs of a folder"},
    {"estimate", cmd_estimate, "lifecycle energy of a service that handles N requests"},
    {"method", cmd_method, "the method with every decision that it leaves open"},
    {"schema", cmd_schema, "the JSON Schema of what jtok writes"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fprintf(out, "jtok " JTOK_VERSION ": energy per output token of an LLM inference service, with its uncertainty.\n\n"
                 "usage: jtok COMMAND [ARGUMENTS]\n\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(out,
            "\n"
            "  jtok COMMAND --help   the command's options, with an example\n"
            "  jtok --version        the version\n\n"
            "example: jtok run --gpus 0 --requests prompts.jsonl -- vllm serve meta-llama/Llama-3.1-8B-Instruct\n\n"
            "exit codes: 0 formal or done, 1 run excluded, 2 usage, 3 plan or input, 4 no GPU to measure, 5 machine\n"
            "busy, 6 engine failed, 7 records damaged, 8 refused by the method, 9 system, 10 gate failed,\n"
            "11 gate undecided, 130 interrupted\n");
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("jtok " JTOK_VERSION);
        return EXIT_OK;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return EXIT_OK;
    }
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *names[COMMANDS + 1] = {0};
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *nearest = args_nearest(name, names);
    struct err e = {0};
    if (nearest)
        err_set(&e, ERR_USAGE, "There is no command \"%s\". Did you mean \"jtok %s\"? See jtok --help.", name, nearest);
    else
        err_set(&e, ERR_USAGE, "There is no command \"%s\". See jtok --help for what there is.", name);
    return exit_with(&e);
}
