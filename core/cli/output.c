/* The only file of the command line that writes to the descriptors 1 and 2 (top's screen apart). */
// SPDX-License-Identifier: MIT
#include "cli/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/console.h"
#include "os/file.h"
#include "os/interrupt.h"
#include "render/escape.h"

#define MESSAGE_COLUMNS 2000u

int lp__emit(const struct lp_cli *cli, const char *path, const struct lp_buf *text)
{
    struct lp_error err = {0};
    bool to_stdout = !path || strcmp(path, "-") == 0;
    int rc = LP_OK;
    if (text->failed != LP_OK)
        rc = lp__fail(&err, text->failed, 0, "while printing");
    else if (lp__interrupted())
        rc = lp__fail(&err, LP_ERR_INTERRUPTED, 0, "%s", "");
    else if (to_stdout) {
        int sys_errno = 0;
        /* A pipe may be full for long, so an interrupt must get through between two writes. */
        rc = lp__console_write(LP_STDOUT, text->data ? text->data : "", text->len, lp__interrupted, &sys_errno);
        if (rc != LP_OK) lp__fail(&err, rc, sys_errno, "cannot write to stdout: %s", strerror(sys_errno));
    } else
        rc = lp__write_atomic(path, text->data ? text->data : "", text->len, true, &err);
    if (rc == LP_OK) {
        lp__log("wrote %zu bytes to %s", text->len, to_stdout ? "stdout" : path);
        return LP_EXIT_OK;
    }
    if (err.sys_errno == EPIPE) return LP_EXIT_PIPE;
    return lp__say_error(cli, &err);
}

/* A message may hold the bytes of a file name; it stays one line whatever they are. */
static void say_bytes(const struct lp_cli *cli, const char *text)
{
    struct lp_buf line;
    lp__buf_init(&line, 1 << 16);
    lp__buf_adds(&line, LP_PROGRAM ": ");
    lp__escape_head(&line, text, strlen(text), MESSAGE_COLUMNS, cli->utf8);
    lp__buf_addc(&line, '\n');
    if (line.failed == LP_OK) {
        int sys_errno;
        int rc = lp__console_write(LP_STDERR, line.data, line.len, NULL, &sys_errno);
        if (rc != LP_OK) lp__log("stderr is gone"); /* there is nobody left to tell */
    }
    lp__buf_release(&line);
    lp__log("said: %s", text);
}

void lp__say(const struct lp_cli *cli, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0) say_bytes(cli, text);
}

int lp__say_error(const struct lp_cli *cli, const struct lp_error *err)
{
    const char *message = lp__err_message(err->code);
    if (err->code == LP_ERR_INTERRUPTED) return LP_EXIT_INTERRUPTED;
    /* Where the detail is a whole sentence, the table's word for its kind would only stand in the way. */
    bool whole = err->code == LP_ERR_USAGE || err->code == LP_ERR_UNSUPPORTED;
    if (!err->detail[0])
        lp__say(cli, "%s", message);
    else if (whole || strncmp(err->detail, message, strlen(message)) == 0)
        lp__say(cli, "%s", err->detail);
    else
        lp__say(cli, "%s: %s", message, err->detail);
    return lp__err_exit_status(err->code);
}

void lp__log(const char *format, ...)
{
    const char *path = secure_getenv("LINEPROFILER_LOG");
    if (!path || !*path) return;
    char line[1200];
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    size_t len = strftime(line, 64, "%Y-%m-%dT%H:%M:%S", &parts);
    int head =
        snprintf(line + len, sizeof line - len, ".%03ldZ %ld cli: ", now.tv_nsec / 1000000, (long)lp__process_id());
    if (head > 0) len += (size_t)head;
    va_list args;
    va_start(args, format);
    int body = vsnprintf(line + len, sizeof line - len - 1, format, args);
    va_end(args);
    if (body > 0) len += (size_t)body < sizeof line - len - 1 ? (size_t)body : sizeof line - len - 2;
    for (char *p = line; p < line + len; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = ' ';
    line[len++] = '\n';
    lp__append(path, line, len);
}
