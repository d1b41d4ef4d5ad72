#include "model/codes.h"

#include <stddef.h>
#include "base/must.h"

#define NAME(CODE, name, meaning) #name,
const char *const check_code_names[] = {CHECK_CODES(NAME) NULL};
const char *const flag_code_names[] = {FLAG_CODES(NAME) NULL};

#define MEANING(CODE, name, meaning) meaning,
static const char *const check_meanings[] = {CHECK_CODES(MEANING)};
static const char *const flag_meanings[] = {FLAG_CODES(MEANING)};

const char *check_code_meaning(enum check_code code)
{
    must(code < CODE_COUNT);
    return check_meanings[code];
}

const char *flag_code_meaning(enum flag_code code)
{
    must(code < FLAG_COUNT);
    return flag_meanings[code];
}
