#include "cli/texts.h"

#include "base/must.h"
#include "text/wrap.h"

enum { STATE_COLUMN = 21, VALUE_COLUMN = 37, COLUMNS = 80 };

static const char *const states[] = {"verified", "WRONG", "not stated", "not verifiable"};

/* What is known of a property, and where it is said; null: nothing. */
static const char *finding_text(const struct identified_property *p, struct arena *a)
{
    const char *source = p->source ? p->source : "the server";
    if (p->state == IDENTITY_WRONG)
        return arena_format(a, "%s (%s), but the command line says %s", p->seen, source, p->stated);
    if (p->seen)
        return arena_format(a, "%s (%s)", p->seen, source);
    return p->stated ? arena_format(a, "%s (as it was started)", p->stated) : NULL;
}

static void put_property(const struct identified_property *p, struct arena *a, struct buf *out)
{
    buf_fmt(out, "  %-*s%-*s", STATE_COLUMN - 2, p->label, VALUE_COLUMN - STATE_COLUMN, states[p->state]);
    text_wrap(out, finding_text(p, a), VALUE_COLUMN, VALUE_COLUMN, COLUMNS);
}

/* What neither the command line nor the server says, in one sentence. */
static void put_silent(const struct identification *d, struct buf *out)
{
    struct buf text = {0};
    for (size_t i = 0; i < d->property_count; i++)
        if (!d->properties[i].seen && !d->properties[i].stated)
            buf_fmt(&text, "%s%s",
                    text.n ? ", " : "Neither the command line nor the server tells: ", d->properties[i].label);
    if (text.n) {
        buf_byte(&text, '.');
        buf_byte(out, '\n');
        text_wrap(out, buf_text(&text), 0, 0, COLUMNS);
    }
    buf_done(&text);
}

void text_identification(const struct identification *d, struct arena *a, struct buf *out)
{
    must(d->url && d->engine);
    text_wrap(out, arena_format(a, "%s: %s, %s", d->url, d->engine, d->process ? d->process : "process not seen"), 0, 4,
              COLUMNS);
    buf_byte(out, '\n');
    for (size_t i = 0; i < d->property_count; i++)
        if (d->properties[i].seen || d->properties[i].stated)
            put_property(&d->properties[i], a, out);
    put_silent(d, out);
    if (!d->command_known)
        text_wrap(out,
                  "The command line of the server can't be seen from here, so there is nothing to compare with: it is "
                  "another user's or a container's process, or has changed its title.",
                  0, 0, COLUMNS);
    buf_fmt(out, "%lld verified, %lld wrong, %lld not verifiable, %lld not stated.\n",
            (long long)d->counts[IDENTITY_VERIFIED], (long long)d->counts[IDENTITY_WRONG],
            (long long)d->counts[IDENTITY_NOT_VERIFIABLE], (long long)d->counts[IDENTITY_NOT_STATED]);
}
