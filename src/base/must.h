/* What a header promises, checked where it is entered, in release builds too.
 *
 * A broken promise is a fault of this program, not of its input: going on would give a number that nobody can trust.
 * The program says which condition failed and where, and aborts; what was recorded stays, and the guardian, a process
 * of its own, ends the engine. Where a check would cost on every chunk or sample, use assert(): it is on in debug
 * builds. */
#ifndef JTOK_BASE_MUST_H
#define JTOK_BASE_MUST_H

/* Prints "jtok: internal error: CONDITION does not hold (FILE:LINE)." to standard error and aborts. */
_Noreturn void must_fail(const char *condition, const char *file, int line);

#define must(condition) ((condition) ? (void)0 : must_fail(#condition, __FILE_NAME__, __LINE__))

#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif

#endif
