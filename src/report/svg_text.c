#include "report/svg_text.h"

#include "base/must.h"
#include "base/utf8.h"

static void put_xml(struct buf *out, const char *text)
{
    struct buf shown = {0};
    utf8_show(&shown, span_of(text), false);
    for (size_t i = 0; i < shown.n; i++) {
        char c = shown.p[i];
        if (c == '&')
            buf_str(out, "&amp;");
        else if (c == '<')
            buf_str(out, "&lt;");
        else if (c == '>')
            buf_str(out, "&gt;");
        else if (c == '"')
            buf_str(out, "&quot;");
        else
            buf_byte(out, c);
    }
    buf_done(&shown);
}

void svg_label(struct buf *out, double x, double y, const char *class, const char *text)
{
    must(class && text);
    buf_fmt(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    put_xml(out, text);
    buf_str(out, "</text>\n");
}

const char *svg_simulated(bool gpu, bool engine)
{
    return gpu && engine ? "SIMULATED GPU AND ENGINE" : gpu ? "SIMULATED GPU" : engine ? "SIMULATED ENGINE" : NULL;
}
