/* Names: any bytes are a name, come back as they went in, and keep their number; shapes. */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include <pthread.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void test_any_bytes_are_a_name_of_their_own(void **state)
{
    static char lengthy[10000];
    const struct lp_text texts[] = {{"a/b", 3},
                                    {"a", 1},
                                    {"", 0},
                                    {"\0", 1},
                                    {"a\0b", 3},
                                    {"a\0", 2},
                                    {"\xED\xA0\x80", 3},
                                    {lengthy, sizeof lengthy}};
    lp_name_id ids[COUNT(texts)];
    size_t i, j, len;
    (void)state;
    memset(lengthy, 'x', sizeof lengthy);
    for (i = 0; i < COUNT(texts); i++) {
        ids[i] = lp__name_register(texts[i].bytes, texts[i].len);
        assert_true(ids[i] != 0);
        for (j = 0; j < i; j++)
            assert_true(ids[i] != ids[j]);
    }
    for (i = 0; i < COUNT(texts); i++) {
        const char *text = lp__name_text(ids[i], &len);
        assert_int_equal(len, texts[i].len);
        assert_memory_equal(text, texts[i].bytes, len);
        assert_int_equal(lp__name_register(texts[i].bytes, texts[i].len), ids[i]);
        assert_int_equal(lp__name_find(texts[i].bytes, texts[i].len), ids[i]);
    }
}

static void test_names_reach_the_store_whole(void **state)
{
    static char lengthy[10000];
    struct stage stage;
    struct readback rb;
    lp_name_id deep, slash, nul, empty;
    struct lp_thread *thread;
    (void)state;
    memset(lengthy, 'y', sizeof lengthy);
    stage_open(&stage);
    deep = lp__name_register(lengthy, sizeof lengthy);
    slash = lp__name_register("a/b", 3);
    nul = lp__name_register("n\0l", 3);
    empty = lp__name_register("", 0);
    thread = lp__thread_of(stage.recording);
    lp__end(thread, lp__begin(thread, deep, NULL, 0));
    lp__end(thread, lp__begin(thread, slash, NULL, 0));
    lp__end(thread, lp__begin(thread, nul, NULL, 0));
    lp__end(thread, lp__begin(thread, empty, NULL, 0));
    stage_read(&stage, &rb);
    assert_int_equal(phase_named(&rb, lengthy, sizeof lengthy).calls, 1);
    assert_int_equal(phase_named(&rb, "a/b", 3).calls, 1);
    assert_int_equal(phase_named(&rb, "n\0l", 3).calls, 1);
    assert_int_equal(phase_named(&rb, "", 0).calls, 1);
    assert_int_equal(phase_named(&rb, "n", 1).nodes, 0);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_too_long_a_name_is_none(void **state)
{
    char *huge = calloc(1, LP_MAX_NAME_BYTES + 1);
    (void)state;
    assert_non_null(huge);
    assert_true(lp__name_register(huge, LP_MAX_NAME_BYTES) != 0);
    assert_int_equal(lp__name_register(huge, LP_MAX_NAME_BYTES + 1), 0);
    free(huge);
}

static void test_what_was_never_registered_is_not_found(void **state)
{
    size_t len = 7;
    (void)state;
    assert_int_equal(lp__name_find("never registered", 16), 0);
    assert_string_equal(lp__name_text(0, &len), "");
    assert_int_equal(len, 0);
    assert_string_equal(lp__name_text(UINT32_MAX, &len), "");
}

static void test_without_memory_a_name_is_none(void **state)
{
    static char lengthy[100000];
    (void)state;
    memset(lengthy, 'z', sizeof lengthy);
    (void)named("some name");
    lp__mem_fail_after(0);
    assert_int_equal(lp__name_register(lengthy, sizeof lengthy), 0);
    assert_int_equal(lp__name_find(lengthy, sizeof lengthy), 0);
    lp__mem_fail_after(-1);
    assert_true(lp__name_register(lengthy, sizeof lengthy) > 1);
}

static void test_digits_make_a_shape(void **state)
{
    uint64_t shape = lp__name_shape(named("file 7 of 10"));
    (void)state;
    assert_true(lp__name_shape(named("file 12 of 3")) == shape);
    assert_true(lp__name_shape(named("file 123456789 of 987654321")) == shape);
    assert_true(lp__name_shape(named("file of 3")) != shape);
    assert_true(lp__name_shape(named("file 7 of x")) != shape);
    assert_true(lp__name_shape(named("file 7 8 of 10")) != shape);
    assert_true(lp__name_shape(named("7")) != lp__name_shape(named("")));
}

static void *register_many(void *arg)
{
    lp_name_id *ids = arg;
    char text[32];
    int i;
    for (i = 0; i < 500; i++) {
        int len = snprintf(text, sizeof text, "shared %d", i);
        ids[i] = lp__name_register(text, (size_t)len);
    }
    return NULL;
}

static void test_threads_agree_on_numbers(void **state)
{
    static lp_name_id ids[4][500];
    pthread_t threads[4];
    int i, j;
    (void)state;
    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, register_many, ids[i]), 0);
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (j = 0; j < 500; j++)
        for (i = 0; i < 4; i++)
            assert_true(ids[i][j] != 0 && ids[i][j] == ids[0][j]);
}

static void test_names_of_a_shape_are_counted_once_each(void **state)
{
    struct stage stage;
    char text[32];
    uint32_t i;
    (void)state;
    stage_open(&stage);
    for (i = 1; i <= 200; i++) {
        snprintf(text, sizeof text, "batch %u", i);
        assert_int_equal(lp__recording_note_shape(stage.recording, named(text)), i);
    }
    assert_int_equal(lp__recording_note_shape(stage.recording, named("batch 7")), 0);
    assert_int_equal(lp__recording_note_shape(stage.recording, named("another")), 1);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_bytes_are_a_name_of_their_own),
        cmocka_unit_test(test_names_reach_the_store_whole),
        cmocka_unit_test(test_too_long_a_name_is_none),
        cmocka_unit_test(test_what_was_never_registered_is_not_found),
        cmocka_unit_test(test_without_memory_a_name_is_none),
        cmocka_unit_test(test_digits_make_a_shape),
        cmocka_unit_test(test_threads_agree_on_numbers),
        cmocka_unit_test(test_names_of_a_shape_are_counted_once_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
