/* The public C API: start and stop, phases and counters, and handing over to another copy of the core that records. */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "collect/table.h"

/* Stands for another copy of the core, such as Python's. */
struct copy {
    int recording;
    int begun, ended, stopped;
    int64_t counted;
    char name[32]; /* of the last phase or counter */
    const char *names[8];
    size_t name_count;
};
static struct copy copies[2];

static lp_name other_register(struct copy *copy, const char *bytes, size_t len)
{
    for (size_t i = 0; i < copy->name_count; i++)
        if (strlen(copy->names[i]) == len && !memcmp(copy->names[i], bytes, len)) return (lp_name)(100 + i);
    assert_true(copy->name_count < 8);
    copy->names[copy->name_count] = strndup(bytes, len);
    return (lp_name)(100 + copy->name_count++);
}

static void note_name(struct copy *copy, lp_name name)
{
    assert_true(name >= 100 && name < 100 + copy->name_count);
    snprintf(copy->name, sizeof copy->name, "%s", copy->names[name - 100]);
}

static lp_token other_begin(struct copy *copy, const void *recorder, lp_name name)
{
    lp_token token = {copy, 7, recorder};
    note_name(copy, name);
    copy->begun++;
    return token;
}

static void other_count(struct copy *copy, lp_name name, int64_t n)
{
    note_name(copy, name);
    copy->counted += n;
}

static void other_end(lp_token token)
{
    struct copy *copy = token.scope;
    assert_int_equal(token.serial, 7);
    copy->ended++;
}

#define COPY(i)                                                                                                        \
    static const struct lp_table table_##i;                                                                            \
    static int is_recording_##i(void)                                                                                  \
    {                                                                                                                  \
        return copies[i].recording;                                                                                    \
    }                                                                                                                  \
    static void stop_##i(void)                                                                                         \
    {                                                                                                                  \
        copies[i].stopped++;                                                                                           \
    }                                                                                                                  \
    static lp_name register_##i(const char *bytes, size_t len)                                                         \
    {                                                                                                                  \
        return other_register(&copies[i], bytes, len);                                                                 \
    }                                                                                                                  \
    static lp_token begin_##i(lp_name name)                                                                            \
    {                                                                                                                  \
        return other_begin(&copies[i], &table_##i, name);                                                              \
    }                                                                                                                  \
    static void count_##i(lp_name name, int64_t n)                                                                     \
    {                                                                                                                  \
        other_count(&copies[i], name, n);                                                                              \
    }                                                                                                                  \
    static const struct lp_table table_##i = {                                                                         \
        .magic = LP_TABLE_MAGIC,                                                                                       \
        .bytes = sizeof(struct lp_table),                                                                              \
        .version = LP_TABLE_VERSION,                                                                                   \
        .stop = stop_##i,                                                                                              \
        .is_recording = is_recording_##i,                                                                              \
        .name_register = register_##i,                                                                                 \
        .phase_begin = begin_##i,                                                                                      \
        .phase_end = other_end,                                                                                        \
        .count = count_##i,                                                                                            \
    }

COPY(0);
COPY(1);

static int begin_test(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        while (copies[i].name_count)
            free((void *)(uintptr_t)copies[i].names[--copies[i].name_count]);
        memset(&copies[i], 0, sizeof copies[i]);
    }
    atomic_store(&lp__other_table, NULL);
    return 0;
}

static void record_one(const char *name)
{
    lp_token token = lp_phase_begin(lp_name_register(name));
    lp_count(lp_name_register("n"), 5);
    lp_phase_end(token);
}

static void test_nothing_is_recorded_before_start(void **state)
{
    lp_token token = lp_phase_begin(lp_name_register("early"));
    (void)state;
    assert_null(token.scope);
    lp_phase_end(token);
    lp_count(lp_name_register("n"), 1);
    lp_stop();
}

static void test_started_recording_is_kept_until_stop(void **state)
{
    struct lp_recording *recording;
    struct temp_dir dir;
    struct readback rb;
    char run[80];
    (void)state;
    assert_int_equal(temp_dir_make(&dir), 0);
    snprintf(run, sizeof run, "%.63s/run", dir.path);
    assert_int_equal(lp_start(run, "tester"), 0);
    assert_int_equal(lp_start("elsewhere", "again"), 0);
    recording = atomic_load(&lp__installed);
    lp__recording_retain(recording);
    record_one("mine");
    lp_stop();
    assert_null(atomic_load(&lp__installed));
    assert_false(lp__recording_is_open(recording));
    record_one("late");
    assert_int_equal(readback_recording(&rb, recording), 0);
    assert_int_equal(phase_at(&rb, "mine").calls, 1);
    assert_int_equal(phase_at(&rb, "late").calls, 0);
    readback_release(&rb);
    lp__recording_release(recording);
    assert_int_equal(temp_dir_remove(&dir), 0);
}

static void test_stop_leaves_what_others_started(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    lp__install(stage.recording);
    lp_stop();
    assert_true(lp__recording_is_open(stage.recording));
    lp__install(NULL);
    stage_close(&stage);
}

static void test_another_copy_gets_everything_once_it_records(void **state)
{
    lp_name name = lp_name_register("shared");
    (void)state;
    lp_table_1.meet(&table_0);
    lp_phase_end(lp_phase_begin(name)); /* it does not record yet */
    assert_int_equal(copies[0].begun, 0);
    copies[0].recording = 1;
    record_one("shared");
    assert_int_equal(copies[0].begun, 1);
    assert_int_equal(copies[0].ended, 1);
    assert_int_equal(copies[0].counted, 5);
    assert_string_equal(copies[0].name, "n");
    lp_phase_end(lp_phase_begin(name));
    assert_string_equal(copies[0].name, "shared");
    lp_stop();
    assert_int_equal(copies[0].stopped, 1);
}

/* A name has another number in each copy, and going back and forth mixes none up. */
static void test_names_are_translated_for_each_copy(void **state)
{
    lp_name first = lp_name_register("first"), second = lp_name_register("second");
    (void)state;
    copies[0].recording = copies[1].recording = 1;
    for (int round = 0; round < 3; round++) {
        lp_table_1.meet(&table_0);
        lp_phase_end(lp_phase_begin(first));
        assert_string_equal(copies[0].name, "first");
        lp_phase_end(lp_phase_begin(second));
        assert_string_equal(copies[0].name, "second");
        lp_table_1.meet(&table_1);
        lp_phase_end(lp_phase_begin(second));
        assert_string_equal(copies[1].name, "second");
        lp_phase_end(lp_phase_begin(first));
        assert_string_equal(copies[1].name, "first");
    }
    assert_int_equal(copies[0].ended, 6);
    assert_int_equal(copies[1].ended, 6);
}

static void test_token_ends_where_it_began(void **state)
{
    lp_token token;
    (void)state;
    lp_table_1.meet(&table_0);
    copies[0].recording = 1;
    token = lp_phase_begin(lp_name_register("x"));
    copies[0].recording = 0;
    copies[1].recording = 1;
    lp_table_1.meet(&table_1);
    lp_phase_end(token);
    assert_int_equal(copies[0].ended, 1);
    assert_int_equal(copies[1].ended, 0);
}

static void test_a_copy_does_not_meet_itself(void **state)
{
    (void)state;
    lp_table_1.meet(&lp_table_1);
    assert_null(atomic_load(&lp__other_table));
    lp__table_look();
    assert_null(atomic_load(&lp__other_table));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_is_recorded_before_start, begin_test),
        cmocka_unit_test_setup(test_started_recording_is_kept_until_stop, begin_test),
        cmocka_unit_test_setup(test_stop_leaves_what_others_started, begin_test),
        cmocka_unit_test_setup(test_another_copy_gets_everything_once_it_records, begin_test),
        cmocka_unit_test_setup(test_names_are_translated_for_each_copy, begin_test),
        cmocka_unit_test_setup(test_token_ends_where_it_began, begin_test),
        cmocka_unit_test_setup(test_a_copy_does_not_meet_itself, begin_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
