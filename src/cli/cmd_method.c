#include "cli/command.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "model/method.h"
#include "schema/json.h"
#include "schema/table.h"

struct method_options {
    enum format format;
};

static const struct option method_rows[] = {FORMAT_OPTION(method_options, format, format_names_two)};

static void put_json(struct buf *out)
{
    struct method m = method_default();
    struct json_writer w;
    json_writer_init(&w, out, 2);
    json_put_object(&w);
    json_put_key(&w, "id");
    json_put_text(&w, METHOD_ID);
    json_put_key(&w, "parameters");
    schema_json_put(&method_schema, &m, &w);
    json_put_key(&w, "decisions");
    json_put_array(&w);
    for (size_t i = 0; i < method_decision_count; i++)
        schema_json_put(&method_decision_schema, &method_decisions[i], &w);
    json_put_array_end(&w);
    json_put_object_end(&w);
    buf_byte(out, '\n');
}

static bool run_method(struct call *call, struct err *e)
{
    (void)e;
    const struct method_options *o = call->options;
    if (o->format == FORMAT_JSON)
        put_json(call->out);
    else
        text_method(call->arena, call->out);
    return true;
}

const struct command cmd_method = {
    .name = "method",
    .brief = "print the method, with every decision that its source leaves open",
    .summary =
        "Prints the method: its parameters, every decision that the source leaves open [D], the checks, and the flags.",
    .example = "jtok method",
    .options = method_rows,
    .option_count = SCHEMA_COUNT(method_rows),
    .options_size = sizeof(struct method_options),
    .run = run_method,
};
