/* The parser of the command line: every form of an option, every complaint once. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/command.h"
#include "cli/options.h"

static const enum lp_option_id accepted[] = {LP_OPT_FORMAT, LP_OPT_OUTPUT,   LP_OPT_TOP,     LP_OPT_WIDTH, LP_OPT_WIDE,
                                             LP_OPT_ROLE,   LP_OPT_INTERVAL, LP_OPT_DRY_RUN, LP_OPT_JSON,  LP_OPT_NONE};

static struct lp_args args;
static struct lp_error err;

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static int parse(const char *const *words)
{
    int count = 0;
    while (words[count])
        count++;
    memset(&err, 0, sizeof err);
    return lp__args_parse(&args, accepted, 1, count, words, &err);
}

static void complains(int rc, enum lp_err code, const char *sentence)
{
    assert_int_equal(rc, code);
    assert_int_equal(err.code, code);
    assert_string_equal(err.detail, sentence);
}

static void test_forms(void **state)
{
    (void)state;
    assert_int_equal(PARSE("dir", "--format", "json", "--top=3", "-o", "a", "--wide"), LP_OK);
    assert_int_equal(args.operand_count, 1);
    assert_string_equal(args.operand[0], "dir");
    assert_string_equal(args.value[LP_OPT_FORMAT], "json");
    assert_int_equal(lp__args_count(&args, LP_OPT_TOP, 9), 3);
    assert_string_equal(args.value[LP_OPT_OUTPUT], "a");
    assert_true(lp__args_has(&args, LP_OPT_WIDE));
    assert_false(lp__args_has(&args, LP_OPT_ROLE));
    assert_int_equal(PARSE("-opath", "-n"), LP_OK);
    assert_string_equal(args.value[LP_OPT_OUTPUT], "path");
    assert_true(lp__args_has(&args, LP_OPT_DRY_RUN));
    assert_int_equal(PARSE("-no", "path"), LP_OK); /* letters share a word */
    assert_string_equal(args.value[LP_OPT_OUTPUT], "path");
    assert_int_equal(PARSE("--help"), LP_OK);
    assert_true(lp__args_has(&args, LP_OPT_HELP));
    assert_int_equal(PARSE("-h"), LP_OK);
    assert_int_equal(lp__args_parse(&args, accepted, 1, 0, NULL, &err), LP_OK);
}

static void test_values(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--top", "all"), LP_OK);
    assert_true(lp__args_count(&args, LP_OPT_TOP, 9) == UINT32_MAX);
    assert_int_equal(PARSE("--interval", "0.25"), LP_OK);
    assert_true(lp__args_seconds(&args, LP_OPT_INTERVAL, 2) == 0.25);
    assert_true(lp__args_seconds(&args, LP_OPT_TOP, 2) == 2.0);
    assert_int_equal(PARSE("--top", "3", "--top", "4"), LP_OK); /* the last counts */
    assert_int_equal(lp__args_count(&args, LP_OPT_TOP, 9), 4);
    assert_int_equal(PARSE("--role=--wide"), LP_OK); /* a value may look like an option */
    assert_string_equal(args.value[LP_OPT_ROLE], "--wide");
    assert_int_equal(PARSE("--role", "--wide"), LP_OK);
    assert_int_equal(PARSE("--", "--wide"), LP_OK);
    assert_string_equal(args.operand[0], "--wide");
    assert_int_equal(PARSE("-"), LP_OK);
    assert_string_equal(args.operand[0], "-");
}

static void test_unknown(void **state)
{
    (void)state;
    complains(PARSE("--fromat"), LP_ERR_USAGE, "no option '--fromat'; did you mean --format?");
    complains(PARSE("--zzz=1"), LP_ERR_USAGE, "no option '--zzz' (--help lists them)");
    complains(PARSE("-x"), LP_ERR_USAGE, "no option '-x' (--help lists them)");
    complains(PARSE("--keep", "1"), LP_ERR_USAGE, "no option '--keep' (--help lists them)"); /* another command's */
    complains(PARSE("--jsno"), LP_ERR_USAGE, "no option '--jsno' (--help lists them)");      /* hidden: not named */
    complains(PARSE("a", "b"), LP_ERR_USAGE, "one word too many: 'b' (--help shows what it takes)");
}

static void test_bad_values(void **state)
{
    (void)state;
    complains(PARSE("--format", "xml"), LP_ERR_USAGE, "--format takes text|json, not 'xml'");
    complains(PARSE("--format", ""), LP_ERR_USAGE, "--format takes text|json, not ''");
    complains(PARSE("--format", "text|json"), LP_ERR_USAGE, "--format takes text|json, not 'text|json'");
    complains(PARSE("--format"), LP_ERR_USAGE, "--format needs a value: text|json");
    complains(PARSE("--role="), LP_ERR_USAGE, "--role needs a value that is not empty");
    complains(PARSE("--wide=yes"), LP_ERR_USAGE, "--wide takes no value");
    complains(PARSE("--top", "0"), LP_ERR_USAGE, "--top takes a whole number from 1 to 1000000 or all, not '0'");
    complains(PARSE("--top", "-3"), LP_ERR_USAGE, "--top takes a whole number from 1 to 1000000 or all, not '-3'");
    complains(PARSE("--top", "3x"), LP_ERR_USAGE, "--top takes a whole number from 1 to 1000000 or all, not '3x'");
    complains(PARSE("--width", "99999999999999999999"), LP_ERR_USAGE,
              "--width takes a whole number from 60 to 1000, not '99999999999999999999'");
    complains(PARSE("--interval", "0.01"), LP_ERR_USAGE, "--interval takes seconds from 0.1 to 3600, not '0.01'");
    complains(PARSE("--interval", "1.2.3"), LP_ERR_USAGE, "--interval takes seconds from 0.1 to 3600, not '1.2.3'");
    complains(PARSE("--interval", "."), LP_ERR_USAGE, "--interval takes seconds from 0.1 to 3600, not '.'");
}

static void test_later_part(void **state)
{
    (void)state;
    complains(PARSE("--format", "html"), LP_ERR_UNSUPPORTED,
              "--format html is not part of this version: it comes with the part on pages (use text|json)");
}

/* A remedy must survive a value of any length. */
static void test_long_values_are_cut(void **state)
{
    char word[2000];
    (void)state;
    memset(word, 'x', sizeof word - 1);
    word[0] = word[1] = '-';
    word[sizeof word - 1] = '\0';
    assert_int_equal(PARSE(word), LP_ERR_USAGE);
    assert_non_null(strstr(err.detail, "(--help lists them)"));
    assert_int_equal(PARSE("--format", word), LP_ERR_USAGE);
    assert_non_null(strstr(err.detail, "text|json"));
}

/* Each command's list names options of the table, none twice; each option is some command's. */
static void test_tables_agree(void **state)
{
    bool used[LP_OPT_COUNT] = {false};
    (void)state;
    for (const struct lp_command *const *command = lp__commands; *command; command++) {
        bool here[LP_OPT_COUNT] = {false};
        if (!(*command)->run) {
            assert_non_null((*command)->part);
            continue;
        }
        for (const enum lp_option_id *id = (*command)->options; *id != LP_OPT_NONE; id++) {
            assert_non_null(lp__option(*id));
            assert_false(here[*id]);
            here[*id] = used[*id] = true;
        }
    }
    for (enum lp_option_id id = LP_OPT_NONE + 1; id < LP_OPT_COUNT; id++) {
        assert_non_null(lp__option(id));
        if (id != LP_OPT_HELP && !used[id]) fail_msg("no command takes --%s", lp__option(id)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),        cmocka_unit_test(test_values),
        cmocka_unit_test(test_unknown),      cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_later_part),   cmocka_unit_test(test_long_values_are_cut),
        cmocka_unit_test(test_tables_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
