#include "run/template.h"

#include "base/buf.h"
#include "run/vocabulary.h"
#include "text/file_read.h"
#include "text/json.h"

enum { FILE_MOST = 16 << 20 };

/* The texts of a document's chat_template: one, or a list of {name, template}. False: it has none. */
static bool add_templates(struct span document, struct buf *out)
{
    struct json j;
    bool any = false;
    struct span member = json_member(document, span_of("chat_template"));
    if (!member.n)
        return false;
    json_init(&j, member);
    for (enum json_kind k; (k = json_next(&j)) != JSON_END && k != JSON_ERROR;)
        if (k == JSON_STRING) {
            json_text(&j, out);
            any = true;
        }
    return any;
}

struct engine_template template_read(const struct plan *p, struct arena *a)
{
    static const char *const documents[] = {"chat_template.json", "tokenizer_config.json"};
    struct engine_template t = {0};
    bool asked = plan_thinking_text(p, a) != NULL;
    const char *folder = asked ? vocabulary_folder(p, a) : NULL;
    if (!folder)
        return t;
    struct buf file = {0}, text = {0};
    bool found = file_read(arena_format(a, "%s/chat_template.jinja", folder), FILE_MOST, &text, NULL);
    for (size_t i = 0; !found && i < sizeof documents / sizeof *documents; i++) {
        buf_clear(&file);
        buf_clear(&text);
        found = file_read(arena_format(a, "%s/%s", folder, documents[i]), FILE_MOST, &file, NULL) &&
                add_templates(buf_span(&file), &text);
    }
    if (found)
        t = engine_read_template(buf_span(&text));
    buf_done(&file);
    buf_done(&text);
    return t;
}
