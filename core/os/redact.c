/* Keeps secrets of a command line out of what is recorded.  A name is split into words at "-", "_", "." and where a
 * capital follows a small letter; one word from the list makes its value a secret.  Words must match whole, so
 * --tokenizer and --max-tokens stay readable. */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "os/host.h"

static const char *const secret_words[] = {
    "token",  "secret", "password",    "passwd",    "passphrase", "pass",      "pwd",        "key",
    "apikey", "auth",   "credentials", "authtoken", "credential", "accesskey", "privatekey", "secretkey",
};

static bool is_secret_word(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof secret_words / sizeof *secret_words; i++)
        if (strlen(secret_words[i]) == len && !strncmp(secret_words[i], word, len)) return true;
    return false;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c)
{
    return is_upper(c) || (c >= 'a' && c <= 'z');
}

/* A capital after a small letter, or the last of several capitals before one: apiKey, HFToken. */
static bool starts_word(const char *name, size_t len, size_t i)
{
    if (!i || !is_upper(name[i]) || !is_letter(name[i - 1])) return false;
    return !is_upper(name[i - 1]) || (i + 1 < len && is_letter(name[i + 1]) && !is_upper(name[i + 1]));
}

static bool is_secret_name(const char *name, size_t len)
{
    char word[16];
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        if (starts_word(name, len, i)) {
            if (used <= sizeof word && is_secret_word(word, used)) return true;
            used = 0;
        }
        if (is_letter(c)) {
            if (used < sizeof word) word[used] = (char)(c | 0x20);
            used++;
        } else {
            if (used <= sizeof word && is_secret_word(word, used)) return true;
            used = 0;
        }
    }
    return used <= sizeof word && is_secret_word(word, used);
}

/* user:password@ in a URL. */
static void add_without_url_password(const char *arg, size_t len, struct lp_buf *out)
{
    const char *scheme = strstr(arg, "://");
    const char *host = scheme ? scheme + 3 : NULL;
    const char *at = host ? memchr(host, '@', strcspn(host, "/?# ")) : NULL;
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    if (!colon) {
        lp__buf_add(out, arg, len);
        return;
    }
    lp__buf_add(out, arg, (size_t)(colon + 1 - arg));
    lp__buf_adds(out, "***");
    lp__buf_add(out, at, len - (size_t)(at - arg));
}

/* Returns whether the next argument is the value of a secret. */
static bool add_argument(const char *arg, size_t len, struct lp_buf *out)
{
    const char *equals = memchr(arg, '=', len);
    size_t name_len = equals ? (size_t)(equals - arg) : len;
    bool is_name = equals || arg[0] == '-';
    if (is_name && is_secret_name(arg, name_len)) {
        lp__buf_add(out, arg, name_len);
        if (equals) lp__buf_adds(out, "=***");
        return !equals;
    }
    add_without_url_password(arg, len, out);
    return false;
}

void lp__redact_argv(const char *args, size_t len, struct lp_buf *out)
{
    bool hide = false;
    for (size_t at = 0; at < len;) {
        size_t arg_len = strnlen(args + at, len - at);
        if (at) lp__buf_addc(out, '\0');
        if (hide) {
            lp__buf_adds(out, "***");
            hide = false;
        } else {
            hide = add_argument(args + at, arg_len, out);
        }
        at += arg_len + 1;
    }
}
