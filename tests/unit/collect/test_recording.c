/* Recordings: opening, closing, installing, what the file says of its process, copies, no descriptor left. */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include <dirent.h>
#include <sys/stat.h>

static unsigned descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void test_five_times_in_one_process(void **state)
{
    struct stage stage;
    struct readback rb;
    char path[PATH_MAX];
    int i;
    (void)state;
    for (i = 0; i < 5; i++) {
        stage_open(&stage);
        assert_true(lp__recording_is_open(stage.recording));
        assert_string_equal(lp__recording_path(stage.recording), "");
        entry_in(stage.recording, "p");
        snprintf(path, sizeof path, "%s", lp__recording_path(stage.recording));
        assert_int_equal(strncmp(path, stage.run, strlen(stage.run)), 0);
        lp__recording_close(stage.recording);
        lp__recording_close(stage.recording);
        assert_false(lp__recording_is_open(stage.recording));
        assert_int_equal(readback_file(&rb, path), 0);
        assert_int_equal(rb.image.header.state, LP_STATE_FINISHED);
        assert_true(rb.image.header.closed_ticks > rb.image.header.created_ticks);
        assert_int_equal(phase_at(&rb, "p").calls, 1);
        readback_release(&rb);
        stage_close(&stage);
    }
}

static void test_nothing_is_made_before_the_first_record(void **state)
{
    struct stage stage;
    struct stat st;
    (void)state;
    stage_open(&stage);
    assert_int_not_equal(stat(stage.run, &st), 0);
    lp__recording_snapshot(stage.recording);
    lp__recording_fact(stage.recording, "k", "v", 1);
    assert_int_not_equal(stat(stage.run, &st), 0);
    stage_close(&stage);
}

static void test_no_descriptor_is_left_open(void **state)
{
    static const enum lp_store_choice choices[] = {LP_STORE_AUTO, LP_STORE_SHM, LP_STORE_MEMORY};
    struct stage stage;
    char name[16];
    size_t i;
    int j;
    (void)state;
    for (i = 0; i < 3; i++) {
        struct lp_recording_options options = {.store = choices[i]};
        unsigned before = descriptors();
        stage_open_with(&stage, &options);
        for (j = 0; j < 500; j++) { /* growth too */
            snprintf(name, sizeof name, "p%d", j);
            entry_in(stage.recording, name);
        }
        assert_int_equal(descriptors(), before);
        lp__recording_snapshot(stage.recording);
        lp__recording_close(stage.recording);
        assert_int_equal(descriptors(), before);
        stage_close(&stage);
    }
}

static void assert_fact(const struct readback *rb, const char *key, const char *value)
{
    struct lp_text text;
    if (!lp__image_fact(&rb->image, key, &text)) fail_msg("no fact %s", key);
    assert_int_equal(text.len, strlen(value));
    assert_memory_equal(text.bytes, value, text.len);
}

static int record_a_rank(void *arg)
{
    struct stage *stage = arg;
    struct readback rb;
    assert_int_equal(setenv("RANK", "5", 1), 0);
    entry_in(stage->recording, "x");
    stage_read(stage, &rb);
    assert_fact(&rb, "rank", "5");
    readback_release(&rb);
    return 0;
}

/* Worker functions set their rank themselves: after the start, or after the fork. */
static void test_a_rank_that_is_set_before_the_first_record_counts(void **state)
{
    struct stage stage;
    struct readback rb;
    (void)state;
    assert_int_equal(unsetenv("RANK") | setenv("WORLD_SIZE", "8", 1), 0);
    stage_open(&stage);
    assert_int_equal(setenv("RANK", "3", 1), 0);
    entry_in(stage.recording, "x");
    assert_int_equal(setenv("RANK", "4", 1), 0);
    entry_in(stage.recording, "x");
    stage_read(&stage, &rb);
    assert_fact(&rb, "rank", "3");
    readback_release(&rb);
    assert_int_equal(in_child(record_a_rank, &stage), 0);
    assert_int_equal(unsetenv("RANK") | unsetenv("WORLD_SIZE"), 0);
    stage_close(&stage);
}

static void test_the_file_knows_its_process(void **state)
{
    static const char *const facts[] = {"color", "blue", "empty", "", NULL};
    struct lp_recording_options options = {
        .role = "ro\nle\0x", .role_len = 7, .attempt = "attempt/7", .python = "3.99", .facts = facts};
    struct stage stage;
    struct readback rb;
    struct lp_text text;
    char number[16];
    size_t len;
    (void)state;
    stage_open_with(&stage, &options);
    assert_string_equal(lp__recording_attempt(stage.recording), "attempt/7");
    assert_string_equal(lp__recording_run_dir(stage.recording), stage.run);
    (void)lp__recording_role(stage.recording, &len);
    assert_int_equal(len, 7);
    entry_in(stage.recording, "p");
    lp__recording_fact(stage.recording, "color", "red", 3);
    stage_read(&stage, &rb);
    assert_true(lp__image_fact(&rb.image, "role", &text));
    assert_int_equal(text.len, 7);
    assert_memory_equal(text.bytes, "ro\nle\0x", 7);
    assert_fact(&rb, "attempt", "attempt/7");
    assert_fact(&rb, "attempt.source", "given");
    assert_fact(&rb, "python", "3.99");
    assert_fact(&rb, "version", LP_VERSION);
    assert_fact(&rb, "color", "red"); /* the last one holds */
    snprintf(number, sizeof number, "%d", getpid());
    assert_fact(&rb, "pid", number);
    assert_int_equal(rb.image.header.pid, getpid());
    assert_int_equal(rb.image.header.state, LP_STATE_RUNNING);
    assert_int_equal(rb.image.header.place, LP_PLACE_RUN_DIR);
    readback_release(&rb);
    stage_close(&stage);
}

static void test_wrong_use_is_refused(void **state)
{
    struct lp_recording_options options = {.run_dir = ""};
    struct lp_recording *recording = (void *)&options;
    struct lp_error err;
    (void)state;
    assert_int_equal(lp__recording_open(&options, &recording, &err), LP_ERR_USAGE);
    assert_null(recording);
    options.run_dir = NULL;
    assert_int_equal(lp__recording_open(&options, &recording, NULL), LP_ERR_USAGE);
}

static void test_a_relative_directory_stays_where_it_was(void **state)
{
    struct lp_recording_options options = {.run_dir = "below/run", .attempt = "a"};
    struct temp_dir dir;
    struct lp_recording *recording;
    char before[PATH_MAX], expected[PATH_MAX];
    struct stat st;
    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(temp_dir_make(&dir), 0);
    assert_int_equal(chdir(dir.path), 0);
    assert_int_equal(lp__recording_open(&options, &recording, NULL), 0);
    assert_int_equal(chdir("/"), 0);
    entry_in(recording, "p");
    snprintf(expected, sizeof expected, "%s/below/run/workers", dir.path);
    assert_int_equal(stat(expected, &st), 0);
    lp__recording_close(recording);
    lp__recording_release(recording);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(temp_dir_remove(&dir), 0);
}

static void test_installing(void **state)
{
    struct stage one, two;
    (void)state;
    stage_open(&one);
    stage_open(&two);
    assert_null(atomic_load(&lp__installed));
    lp__install(one.recording);
    assert_ptr_equal(atomic_load(&lp__installed), one.recording);
    assert_int_equal(atomic_load(&one.recording->references), 2);
    lp__install(two.recording);
    assert_int_equal(atomic_load(&one.recording->references), 1);
    lp__recording_close(one.recording);
    assert_ptr_equal(atomic_load(&lp__installed), two.recording);
    lp__recording_close(two.recording);
    assert_null(atomic_load(&lp__installed)); /* a closed one is not installed */
    lp__install(NULL);
    stage_close(&one);
    stage_close(&two);
}

static void test_open_phases_are_in_the_copy(void **state)
{
    struct stage stage;
    struct readback rb;
    struct node_sum sum;
    struct entry entry;
    (void)state;
    stage_open(&stage);
    entry = begin_in(stage.recording, "open");
    stage_read(&stage, &rb);
    sum = phase_at(&rb, "open");
    assert_int_equal(sum.begun, 1);
    assert_int_equal(sum.calls, 0);
    assert_int_equal(sum.start_sum, entry.scope->start);
    readback_release(&rb);
    end_of(entry);
    stage_close(&stage);
}

static void test_a_snapshot_copies_what_is_not_in_the_run_directory(void **state)
{
    static const enum lp_store_choice choices[] = {LP_STORE_SHM, LP_STORE_MEMORY};
    static const enum lp_store_place places[] = {LP_PLACE_SHM, LP_PLACE_MEMORY};
    size_t i;
    (void)state;
    for (i = 0; i < 2; i++) {
        struct lp_recording_options options = {.store = choices[i], .copy_interval_ms = 3600000};
        struct stage stage;
        struct readback rb;
        struct stat st;
        const char *path;
        stage_open_with(&stage, &options);
        entry_in(stage.recording, "p");
        path = lp__recording_path(stage.recording);
        assert_true(path[0] != '\0');
        lp__recording_snapshot(stage.recording);
        assert_int_equal(readback_file(&rb, path), 0);
        assert_int_equal(rb.image.header.state, LP_STATE_RUNNING);
        assert_int_equal(rb.image.header.place, places[i]);
        assert_int_equal(phase_at(&rb, "p").calls, 1);
        readback_release(&rb);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        entry_in(stage.recording, "p");
        lp__recording_close(stage.recording);
        assert_int_equal(readback_file(&rb, path), 0);
        assert_int_equal(rb.image.header.state, LP_STATE_FINISHED);
        assert_int_equal(phase_at(&rb, "p").calls, 2);
        readback_release(&rb);
        assert_int_equal(lp__recording_write_failures(stage.recording), 0);
        stage_close(&stage);
    }
}

static void test_without_cpu(void **state)
{
    struct lp_recording_options options = {.no_cpu = true};
    struct stage stage;
    struct readback rb;
    (void)state;
    stage_open_with(&stage, &options);
    entry_in(stage.recording, "p");
    assert_int_equal(lp__thread_of(stage.recording)->cpu.resyncs, 0); /* nothing was asked of the system */
    stage_read(&stage, &rb);
    assert_int_equal(rb.image.header.cpu_clock, LP_CPU_NONE);
    readback_release(&rb);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_five_times_in_one_process),
        cmocka_unit_test(test_nothing_is_made_before_the_first_record),
        cmocka_unit_test(test_no_descriptor_is_left_open),
        cmocka_unit_test(test_the_file_knows_its_process),
        cmocka_unit_test(test_wrong_use_is_refused),
        cmocka_unit_test(test_a_relative_directory_stays_where_it_was),
        cmocka_unit_test(test_installing),
        cmocka_unit_test(test_open_phases_are_in_the_copy),
        cmocka_unit_test(test_a_snapshot_copies_what_is_not_in_the_run_directory),
        cmocka_unit_test(test_a_rank_that_is_set_before_the_first_record_counts),
        cmocka_unit_test(test_without_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
