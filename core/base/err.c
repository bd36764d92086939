/* The strings of the error table, all static: looking one up can neither fail nor allocate. */
// SPDX-License-Identifier: MIT
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

struct row {
    enum lp_err code;
    int exit_status;
    const char *slug;
    const char *message;
    const char *python_class;
};

static const struct row table[] = {{LP_OK, 0, "ok", "no error", ""},
#define ROW(name, number, slug, message, python, exit_status) {LP_ERR_##name, exit_status, slug, message, python},
                                   LP_ERR_TABLE(ROW)
#undef ROW
};

static const struct row unknown = {LP_OK, 2, "unknown", "unknown error", "ProfileError"};

static const struct row *find(enum lp_err code)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code) return &table[i];
    return &unknown;
}

int lp__fail(struct lp_error *err, enum lp_err code, int sys_errno, const char *format, ...)
{
    if (!err) return code;
    err->code = code;
    err->sys_errno = sys_errno;
    err->offset = 0;
    va_list args;
    va_start(args, format);
    if (vsnprintf(err->detail, sizeof err->detail, format, args) < 0) err->detail[0] = '\0';
    va_end(args);
    for (char *p = err->detail; *p; p++)
        if (*p == '\n' || *p == '\r') *p = ' '; /* a detail is one line, whatever a file name holds */
    return code;
}

const char *lp__err_slug(enum lp_err code)
{
    return find(code)->slug;
}

const char *lp__err_message(enum lp_err code)
{
    return find(code)->message;
}

const char *lp__err_python_class(enum lp_err code)
{
    return find(code)->python_class;
}

int lp__err_exit_status(enum lp_err code)
{
    return find(code)->exit_status;
}
