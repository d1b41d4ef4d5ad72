#include "cli/command.h"

#include <stdio.h>
#include <string.h>
#include "base/must.h"
#include "cli/help.h"
#include "cli/show.h"

const struct command *const commands[] = {&cmd_run,    &cmd_attach,   &cmd_watch,  &cmd_stat,    &cmd_demo,
                                          &cmd_doctor, &cmd_identify, &cmd_report, &cmd_analyze, &cmd_verify,
                                          &cmd_list,   &cmd_compare,  &cmd_gate,   &cmd_rank,    &cmd_estimate,
                                          &cmd_method, &cmd_schema,   &cmd_docs,   &cmd_help,    NULL};
enum { COMMANDS = sizeof commands / sizeof *commands - 1 };

const struct command *command_find(const char *name, struct err *e)
{
    must(name);
    const char *names[COMMANDS + 1] = {0};
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
        names[i] = commands[i]->name;
    }
    const char *near = args_nearest(name, names);
    if (near)
        err_set(e, ERR_USAGE, "There is no command \"%s\". Did you mean \"jtok %s\"? See jtok --help.", name, near);
    else
        err_set(e, ERR_USAGE, "There is no command \"%s\". \"jtok --help\" lists the commands.", name);
    return NULL;
}

/* Help before anything else: nothing of the command has been looked at, so it works where the machine does not. */
static bool run_or_help(struct call *call, struct err *e)
{
    if (call->args->help) {
        help_command(call->command, call->out);
        return true;
    }
    return call->command->run(call, e);
}

/* Texts of others are made fit to be shown here, once for all commands; a report has done so before its colours. */
static bool write_output(const struct call *call, struct err *e)
{
    return call->command->shown ? show_write(call->out, e) : show_flush(call->out, e);
}

enum exit_code command_run(const struct command *c, int argc, char **argv)
{
    must(c->run && argc > 0);
    must(c->option_count == 0 || c->options_size > 0);
    struct err e = {0}, unwritten = {0};
    struct arena a = {0};
    struct buf out = {0};
    struct args args;
    void *options = arena_alloc(&a, c->options_size + 1); /* a command may have none */
    struct call call = {.command = c, .options = options, .args = &args, .arena = &a, .out = &out};
    bool good = args_parse(c, argc, argv, &a, options, &args, &e) && run_or_help(&call, &e);
    bool written = write_output(&call, &unwritten);
    if (!good)
        call.code = exit_with(&e);
    else if (!written)
        call.code = exit_with(&unwritten);
    buf_done(&out);
    arena_done(&a);
    return call.code;
}

static bool is_one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

enum exit_code command_main(int argc, char **argv)
{
    static const char *const for_help[] = {"--help", "-h", NULL}, *const for_version[] = {"--version", "-V", NULL};
    if (argc < 2) { /* not what was meant: so to stderr, and an error */
        struct buf text = {0};
        help_program(&text);
        fputs(buf_text(&text), stderr);
        buf_done(&text);
        return EXIT_USAGE;
    }
    if (is_one_of(argv[1], for_version)) {
        puts("jtok " JTOK_VERSION);
        return EXIT_OK;
    }
    if (is_one_of(argv[1], for_help))
        return command_run(&cmd_help, 1, argv + 1);
    struct err e = {0};
    const struct command *c = command_find(argv[1], &e);
    return c ? command_run(c, argc - 1, argv + 1) : exit_with(&e);
}
