/* Decides from the environment and the descriptors how to print; draws the progress line. */
// SPDX-License-Identifier: MIT
#include "cli/term.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fmt.h"
#include "os/clock.h"
#include "os/console.h"
#include "os/interrupt.h"

#define PROGRESS_AFTER_NS 1000000000u
#define PROGRESS_EVERY_NS 100000000u

const char *lp__term_env(const char *name, void *arg)
{
    (void)arg;
    return secure_getenv(name);
}

/* "en_GB.UTF-8", "C.utf8", "utf-8:strict"; "C", "POSIX" and "de_DE@euro" are something else. */
static bool names_utf8(const char *text)
{
    for (const char *at = text; *at; at++)
        if (strncasecmp(at, "utf-8", 5) == 0 || strncasecmp(at, "utf8", 4) == 0) return true;
    return false;
}

static const char *set(lp_env_lookup *lookup, void *arg, const char *name)
{
    const char *value = lookup(name, arg);
    return value && *value ? value : NULL;
}

bool lp__term_utf8(lp_env_lookup *lookup, void *arg, bool hosted)
{
    static const char *const locale_names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    if (hosted) {
        const char *encoding = set(lookup, arg, "PYTHONIOENCODING");
        if (encoding && *encoding != ':') return names_utf8(encoding);
        const char *mode = set(lookup, arg, "PYTHONUTF8");
        if (mode && strcmp(mode, "1") == 0) return true;
    }
    for (size_t i = 0; i < sizeof locale_names / sizeof *locale_names; i++) {
        const char *locale = set(lookup, arg, locale_names[i]);
        if (locale) return names_utf8(locale);
    }
    return false;
}

bool lp__term_color(const char *choice, bool is_terminal, lp_env_lookup *lookup, void *arg)
{
    if (choice && strcmp(choice, "always") == 0) return true;
    if (choice && strcmp(choice, "never") == 0) return false;
    const char *force = set(lookup, arg, "FORCE_COLOR");
    if (force) return strcmp(force, "0") != 0;
    if (set(lookup, arg, "NO_COLOR")) return false;
    const char *kind = set(lookup, arg, "TERM");
    return is_terminal && kind && strcmp(kind, "dumb") != 0;
}

static unsigned number(const char *text)
{
    char *end = NULL;
    unsigned long n = text ? strtoul(text, &end, 10) : 0;
    return text && *end == '\0' && n <= 10000 ? (unsigned)n : 0;
}

void lp__term_size(int fd, lp_env_lookup *lookup, void *arg, unsigned *columns, unsigned *rows)
{
    lp__console_size(fd, columns, rows);
    unsigned wanted = number(lookup("COLUMNS", arg));
    if (wanted) *columns = wanted;
    wanted = number(lookup("LINES", arg));
    if (wanted) *rows = wanted;
}

/* -- progress ---------------------------------------------------------------------------------------------------- */

void lp__progress_begin(struct lp_progress *progress, bool quiet)
{
    memset(progress, 0, sizeof *progress);
    progress->is_terminal = !quiet && lp__console_is_terminal(LP_STDERR);
    progress->started_ns = lp__mono_ns();
}

static void draw(struct lp_progress *progress, const char *text)
{
    char line[400];
    int rest = progress->columns > strlen(text) ? (int)(progress->columns - strlen(text)) : 0;
    int sys_errno;
    int len = snprintf(line, sizeof line, "\r%s%*s\r%s", text, rest, "", text);
    progress->columns = strlen(text);
    if (len > 0 && lp__console_write(LP_STDERR, line, (size_t)len, NULL, &sys_errno) != LP_OK)
        progress->is_terminal = false;
}

int lp__progress(void *arg, size_t done, size_t all)
{
    struct lp_progress *progress = arg;
    uint64_t now = lp__mono_ns();
    if (lp__interrupted()) return 1;
    if (!progress->is_terminal || now - progress->started_ns < PROGRESS_AFTER_NS ||
        now - progress->drawn_ns < PROGRESS_EVERY_NS)
        return 0;
    char text[120], done_text[LP_FMT_CAP], all_text[LP_FMT_CAP];
    snprintf(text, sizeof text, "reading worker files: %s of %s", lp__fmt_count(done_text, sizeof done_text, done),
             lp__fmt_count(all_text, sizeof all_text, all));
    progress->drawn_ns = now;
    draw(progress, text);
    return 0;
}

void lp__progress_end(struct lp_progress *progress)
{
    if (progress->columns) draw(progress, "");
}
