/* Text in lines of a width. */
#ifndef JTOK_TEXT_WRAP_H
#define JTOK_TEXT_WRAP_H

#include "base/buf.h"

/* `text` broken at spaces into lines of at most `columns`; the first begins where the output stands, at column `at`,
 * later ones behind `indent` spaces. Ends with a newline. The text is made fit to be shown; line feeds in it are
 * spaces. */
void text_wrap(struct buf *out, const char *text, size_t at, size_t indent, size_t columns);

#endif
