#include "store/request_form.h"

#include <string.h>
#include "base/buf.h"
#include "base/must.h"
#include "base/utf8.h"
#include "text/json.h"

/* The path as a word of a shell command. A pipe has none that a command could read again. */
static const char *shell_word(const char *file, struct arena *a)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:@%";
    if (strncmp(file, "/dev/", 5) == 0 || strncmp(file, "/proc/", 6) == 0)
        return "FILE";
    if (*file && *file != '-' && file[strspn(file, plain)] == 0)
        return file;
    struct buf b = {0};
    buf_str(&b, *file == '-' ? "'./" : "'");
    for (; *file; file++) {
        if (*file == '\'')
            buf_str(&b, "'\\''");
        else
            buf_byte(&b, *file);
    }
    buf_byte(&b, '\'');
    const char *word = arena_text(a, buf_text(&b));
    buf_done(&b);
    return word;
}

/* ---- by the first bytes ---- */

struct magic {
    const char *bytes;
    size_t n, at;
    const char *what, *command; /* "%s" is the file */
};
#define MAGIC(bytes, at, what, command)                                                                                \
    {                                                                                                                  \
        bytes, sizeof(bytes) - 1, at, what, command                                                                    \
    }
static const struct magic magics[] = {
    MAGIC("PAR1", 0, "Parquet",
          "python3 -c 'import pandas, sys; pandas.read_parquet(sys.argv[1]).to_json(\"new.jsonl\", "
          "orient=\"records\", lines=True)' %s"),
    MAGIC("ARROW1", 0, "an Arrow file",
          "python3 -c 'import pandas, sys; pandas.read_feather(sys.argv[1]).to_json(\"new.jsonl\", "
          "orient=\"records\", lines=True)' %s"),
    MAGIC("\xfd"
          "7zXZ\0",
          0, "compressed with xz", "xz -dc %s > new.jsonl"),
    MAGIC("BZh", 0, "compressed with bzip2", "bzip2 -dc %s > new.jsonl"),
    MAGIC("\x04\x22\x4d\x18", 0, "compressed with lz4", "lz4 -dc %s > new.jsonl"),
    MAGIC("\x89LZO\0", 0, "compressed with lzop", "lzop -dc %s > new.jsonl"),
    MAGIC("LZIP", 0, "compressed with lzip", "lzip -dc %s > new.jsonl"),
    MAGIC("\x1f\x9d", 0, "compressed with compress", "zcat %s > new.jsonl"),
    MAGIC("\x1f\x8b", 0, "compressed with gzip twice", "zcat %s | zcat > new.jsonl"),
    MAGIC("\x28\xb5\x2f\xfd", 0, "compressed with zstd twice", "zstd -dc %s | zstd -dc > new.jsonl"),
    MAGIC("PK\x03\x04", 0, "a zip archive", "unzip -p %s > new.jsonl"),
    MAGIC("7z\xbc\xaf\x27\x1c", 0, "a 7-Zip archive", "7z x -so %s > new.jsonl"),
    MAGIC("ustar", 257, "a tar archive", "tar -xOf %s > new.jsonl"),
    MAGIC("SQLite format 3", 0, "an SQLite database",
          "sqlite3 %s \"select json_object('prompt', prompt) from TABLE\" > new.jsonl"),
    MAGIC("%PDF-", 0, "a PDF document", "pdftotext %s - | jq -Rc '{prompt: .}' > new.jsonl"),
    MAGIC("\x7f"
          "ELF",
          0, "a program", NULL),
    MAGIC("\x89PNG", 0, "a picture", NULL),
    MAGIC("\x80\x02", 0, "a Python pickle", NULL),
    MAGIC("\x80\x04", 0, "a Python pickle", NULL),
    MAGIC("\x93NUMPY", 0, "a NumPy array", NULL),
};

static const char *with_command(const char *what, const char *command, const char *file, struct arena *a)
{
    static const char want[] = "Requests are JSON Lines, one object per line";
    const char *word = shell_word(file, a), *at = command ? strstr(command, "%s") : NULL;
    if (!command)
        return arena_format(a, "This is %s. %s.", what, want);
    if (!at)
        return arena_format(a, "This is %s. %s. This converts it: %s", what, want, command);
    return arena_format(a, "This is %s. %s. This converts it: %.*s%s%s", what, want, (int)(at - command), command, word,
                        at + 2);
}

static const char *by_magic(struct span text, const char *file, struct arena *a)
{
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        const struct magic *m = &magics[i];
        if (text.n >= m->at + m->n && memcmp(text.p + m->at, m->bytes, m->n) == 0)
            return with_command(m->what, m->command, file, a);
    }
    return NULL;
}

/* ---- text that is not JSON ---- */

static struct span skip_white(struct span s)
{
    while (s.n && strchr(" \t\r\n", *s.p) && *s.p) {
        s.p++;
        s.n--;
    }
    return s;
}

static struct span first_line(struct span s)
{
    const char *end = s.n ? memchr(s.p, '\n', s.n) : NULL;
    struct span line = {s.p, end ? (size_t)(end - s.p) : s.n};
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static bool starts_nocase(struct span s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && strncasecmp(s.p, prefix, n) == 0;
}

static bool contains_nocase(struct span s, const char *part)
{
    for (; s.n; s.p++, s.n--)
        if (starts_nocase(s, part))
            return true;
    return false;
}

/* Columns and keys that hold the text of a request in public sets. */
static const char *const text_names[] = {"text",    "question", "instruction", "input",      "query",
                                         "content", "turns",    "problem",     "text_input", "user_prompt",
                                         "inputs",  "goal",     "task",        "article",    "document",
                                         "Prompt",  "Question", "Goal",        NULL};

static bool is_text_name(struct span name)
{
    if (span_is_nocase(name, "prompt"))
        return true;
    for (size_t i = 0; text_names[i]; i++)
        if (span_is_nocase(name, text_names[i]))
            return true;
    return false;
}

/* Counts of tokens, and no column with a text? */
static bool is_trace(struct span head)
{
    bool tokens = false;
    for (size_t from = 0; from <= head.n;) {
        size_t n = 0;
        while (from + n < head.n && !strchr(",;\t", head.p[from + n]))
            n++;
        struct span column = span_trim((struct span){head.p + from, n});
        if (is_text_name(column))
            return false;
        tokens = tokens || contains_nocase(column, "tokens");
        from += n + 1;
    }
    return tokens;
}

static const char *table_form(struct span head, const char *file, struct arena *a)
{
    bool tabs = head.n && memchr(head.p, '\t', head.n);
    if (is_trace(head))
        return arena_format(
            a,
            "This is a trace in CSV (%.*s): lengths without prompts. Give the prompts in a file of JSON "
            "Lines; the lengths may be there as max_tokens, or in the plan under requests.lengths.",
            (int)(head.n < 100 ? head.n : 100), head.p);
    return with_command(tabs ? "a table with tabs (TSV)" : "a CSV table",
                        tabs ? "python3 -c 'import csv, json, sys; [print(json.dumps(r)) for r in "
                               "csv.DictReader(open(sys.argv[1], newline=\"\"), delimiter=\"\\t\")]' %s > new.jsonl"
                             : "python3 -c 'import csv, json, sys; [print(json.dumps(r)) for r in "
                               "csv.DictReader(open(sys.argv[1], newline=\"\"))]' %s > new.jsonl",
                        file, a);
}

/* Is the line one word, or several with commas, tabs or semicolons between, as the head of a table? */
static bool is_table_head(struct span line, const char *file)
{
    if (span_ends_nocase(span_of(file), ".csv") || span_ends_nocase(span_of(file), ".tsv"))
        return true;
    bool separated = false;
    size_t words = 0;
    for (size_t i = 0; i < line.n; i++) {
        bool separates = line.p[i] == ',' || line.p[i] == '\t' || line.p[i] == ';';
        separated = separated || separates;
        words += line.p[i] == ' ';
        if (line.p[i] == '.' || line.p[i] == '?' || line.p[i] == '!' || line.p[i] == ':')
            return false; /* a sentence */
    }
    return (separated && words < 10) || is_text_name(line);
}

/* ---- JSON of another shape ---- */

/* Does the text read as one whole value? */
static bool is_whole_value(struct span text)
{
    struct json j;
    json_init(&j, text);
    if (json_next(&j) == JSON_ERROR)
        return false;
    if ((j.kind == JSON_OBJECT || j.kind == JSON_ARRAY) && json_skip(&j) == JSON_ERROR)
        return false;
    return json_next(&j) == JSON_END;
}

/* The command that takes the prompt out of an object with this key, or null; *ret_what is what such a set is called. */
static const char *known_key(struct span object, const char **ret_what)
{
    static const struct {
        const char *key, *what, *filter;
    } known[] = {
        {"conversations", "ShareGPT conversations",
         "{prompt: ([.conversations[] | select(.from == \"human\" or .from == \"user\") | .value][0])} | "
         "select(.prompt)"},
        {"conversation", "a set of conversations", "{messages: .conversation}"},
        {"body", "an OpenAI batch", ".body"},
        {"turns", "a set of questions with turns",
         "{prompt: (.turns[0] | if type == \"object\" then .content else . end)}"},
        {"instruction", "instructions",
         "{prompt: (.instruction + (if (.input // \"\") == \"\" then \"\" else \"\\n\\n\" + .input end))}"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (json_member(object, span_of(known[i].key)).n) {
            *ret_what = known[i].what;
            return known[i].filter;
        }
    return NULL;
}

static const char *rename_filter(struct span object, struct arena *a, const char **ret_what)
{
    const char *filter = known_key(object, ret_what);
    *ret_what = filter ? *ret_what : NULL;
    for (size_t i = 0; !filter && text_names[i]; i++)
        if (json_member(object, span_of(text_names[i])).n)
            filter = arena_format(a, "{prompt: .%s}", text_names[i]);
    return filter;
}

static bool has_request(struct span object)
{
    return json_member(object, span_of("prompt")).n || json_member(object, span_of("messages")).n;
}

static const char *list_form(struct span text, const char *file, struct arena *a)
{
    struct json j;
    json_init(&j, text);
    json_next(&j);
    const char *what = "a JSON list", *known = NULL, *filter = NULL;
    if (json_next(&j) == JSON_OBJECT) {
        const char *start = j.at - 1;
        json_skip(&j);
        struct span first = {start, (size_t)(j.at - start)};
        filter = has_request(first) ? NULL : rename_filter(first, a, &known);
    } else if (j.kind == JSON_STRING) {
        what = "a JSON list of texts";
        filter = "{prompt: .}";
    }
    const char *command =
        filter ? arena_format(a, "jq -c '.[] | %s' %%s > new.jsonl", filter) : "jq -c '.[]' %s > new.jsonl";
    return with_command(known ? arena_format(a, "a JSON list (%s)", known) : what, command, file, a);
}

/* One object over several lines, or several such objects behind one another. */
static const char *spread_form(struct span text, const char *file, struct arena *a)
{
    static const char *const lists[] = {"data", "requests", "prompts", "examples", "items", "rows", NULL};
    for (size_t i = 0; lists[i]; i++) {
        struct span list = json_member(text, span_of(lists[i]));
        if (list.n && *list.p == '[')
            return with_command(arena_format(a, "one JSON object with a list in \"%s\"", lists[i]),
                                arena_format(a, "jq -c '.%s[]' %%s > new.jsonl", lists[i]), file, a);
    }
    return with_command("JSON with an object over several lines", "jq -c . %s > new.jsonl", file, a);
}

/* Does an object begin here that ends behind its first line? */
static bool is_spread(struct span text)
{
    struct json j;
    json_init(&j, text);
    if (json_next(&j) != JSON_OBJECT || json_skip(&j) == JSON_ERROR)
        return false;
    return (size_t)(j.at - text.p) > first_line(text).n;
}

const char *request_form(struct span text, const char *file, struct arena *a)
{
    must(file && a);
    const char *encoding = utf8_other_encoding(text), *form = NULL;
    if (encoding)
        return with_command(encoding, arena_format(a, "iconv -f %s -t UTF-8 %%s > new.jsonl", encoding), file, a);
    if ((form = by_magic(text, file, a)))
        return form;
    struct span begin = skip_white(utf8_without_mark(text)), line = first_line(begin);
    if (!begin.n)
        return NULL;
    if (span_starts(begin, "version https://git-lfs.github.com/spec/"))
        return arena_format(
            a,
            "This is a Git LFS pointer: the file itself was not fetched. In its repository, run: git lfs pull "
            "--include %s",
            shell_word(file, a));
    if (starts_nocase(begin, "<!doctype html") || starts_nocase(begin, "<html") || starts_nocase(begin, "<head"))
        return "This is an HTML page: a sign-in, preview or error page was saved instead of the file. Fetch the file "
               "itself "
               "(at Hugging Face: /resolve/ in the address instead of /blob/), for example with curl -fL.";
    if (*begin.p == '<')
        return "This is XML. Requests are JSON Lines, one object per line, with \"prompt\" or \"messages\".";
    if (*begin.p == '[')
        return is_whole_value(begin) ? list_form(begin, file, a) : NULL;
    if (*begin.p == '{')
        return is_spread(begin) ? spread_form(begin, file, a) : NULL;
    if (is_whole_value(line))
        return NULL; /* JSON all the same; the line's own fault is told */
    if (begin.n > 1 && utf8_valid(line) < line.n)
        return NULL;
    if (*begin.p != '"' ? is_table_head(line, file) : memchr(line.p, ',', line.n) != NULL)
        return table_form(line, file, a);
    return with_command("plain text", "jq -Rc '{prompt: .}' %s > new.jsonl", file, a);
}

/* ---- one line ---- */

static const char *key_list(struct span line, struct arena *a)
{
    enum { SHOWN = 8 };
    struct buf b = {0};
    size_t n = 0;
    struct json j;
    json_init(&j, line);
    json_next(&j);
    while (json_next(&j) == JSON_KEY) {
        if (n < SHOWN) {
            buf_str(&b, n ? ", " : "");
            json_text(&j, &b);
        }
        n++;
        if (json_skip(&j) == JSON_ERROR)
            break;
    }
    if (n > SHOWN)
        buf_fmt(&b, " and %zu more", n - SHOWN);
    const char *text = n ? arena_text(a, buf_text(&b)) : NULL;
    buf_done(&b);
    return text;
}

const char *request_line_form(struct span line, const char *file, struct arena *a, const char **ret_advice)
{
    must(file && ret_advice);
    const char *keys = key_list(line, a), *what = NULL;
    *ret_advice = "";
    if (!keys)
        return "There is neither \"prompt\" nor \"messages\" here";
    const char *here = arena_format(a, "There is neither \"prompt\" nor \"messages\" here: the line has %s", keys);
    const char *filter = rename_filter(line, a, &what);
    if (filter) {
        *ret_advice = arena_format(a, " This converts it: jq -c '%s' %s > new.jsonl", filter, shell_word(file, a));
        return what ? arena_format(a, "%s (%s)", here, what) : here;
    }
    if (!json_member(line, span_of("input_length")).n && !json_member(line, span_of("output_length")).n)
        return here;
    *ret_advice =
        " Give the prompts in a file of JSON Lines; the lengths may be there as max_tokens, or in the plan under "
        "requests.lengths.";
    return arena_format(a, "%s (a trace: lengths without prompts)", here);
}
