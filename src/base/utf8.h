/* UTF-8, and text from outside made fit to be shown.
 *
 * What engines, servers, models, data sets, files and the environment say may hold anything: bytes that a terminal
 * obeys, marks that turn the order of the letters, characters without a width. Records keep it; whatever jtok prints,
 * to a terminal, a pipe or a file, goes through here. One rule for all of it:
 *
 *     ill-formed UTF-8 (each longest stretch that begins a character, else each byte)    U+FFFD
 *     C0 controls (LF in one line, too), DEL, and the line ends U+0085, U+2028, U+2029    a space
 *     other C1 controls, marks of direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), invisible
 *     characters (U+200B, U+2060 to U+2065, U+206A to U+206F, U+FEFF, U+FFF9 to U+FFFB, U+E0000 to U+E007F),
 *     noncharacters    U+FFFD
 *
 * So no escape sequence survives, colours neither; jtok puts its own colours behind this. U+200C and U+200D stay: words
 * of several languages need them. What is left is well-formed, and the rule applied twice changes nothing more. */
#ifndef JTOK_BASE_UTF8_H
#define JTOK_BASE_UTF8_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/span.h"

/* Of utf8_first: no character. */
#define UTF8_ILL_FORMED UINT32_MAX

/* The code point in front of `s` (not empty) and its bytes; UTF8_ILL_FORMED with those of the longest stretch that
 * begins a character, at least 1 (Unicode 16, table 3-7 and section 3.9: no over-long form, no surrogate, none above
 * U+10FFFF). */
uint32_t utf8_first(struct span s, size_t *ret_bytes);

/* The encoding of a text that is UTF-16 or UTF-32, by its byte order mark or by where its zero bytes are ("UTF-16LE",
 * named as iconv names it); null: neither. O(1). */
const char *utf8_other_encoding(struct span text);

/* Without the byte order mark that some editors put in front of UTF-8. */
struct span utf8_without_mark(struct span text);

/* Bytes in front of the first ill-formed stretch; s.n where there is none. */
size_t utf8_valid(struct span s);

/* The bytes of a code point up to U+10FFFF, and their number; of a surrogate its three bytes, which are not UTF-8. */
size_t utf8_encode(uint32_t code, char ret_bytes[4]);
void utf8_put(struct buf *b, uint32_t code);

/* Is this a character that is not shown as it is? (LF is one, too.) */
bool utf8_is_unsafe(uint32_t code);

/* A short text that should be plain ASCII, as header values and finish reasons are: cut to size - 1 bytes, everything
 * but printable ASCII as '?', and a NUL behind it. O(size). */
void utf8_ascii(struct span text, char *ret_text, size_t size);

/* Appends `text`, made fit to be shown. A line feed stays with `lines`, else it is a space. O(bytes). */
void utf8_show(struct buf *b, struct span text, bool lines);

/* The same for what stands in the buffer from `from` on. */
void utf8_show_from(struct buf *b, size_t from, bool lines);

/* One line fit to be shown: `text` itself where nothing is to be changed, else a copy in the arena. Null stays null. */
const char *utf8_line(struct arena *a, const char *text);

#endif
