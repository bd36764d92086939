/* The writer: what a new file holds, growth, clock pairs, the three places and their copies, refusals. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/host.h"
#include "store/backing.h"
#include "store/reader.h"
#include "store/writer.h"
#include "support/temp_dir.h"

struct fixture {
    struct temp_dir dir;
    char run[80];
    struct lp_store_options options;
    struct lp_store store;
};

static void prepare(struct fixture *f, enum lp_store_choice choice)
{
    assert_int_equal(temp_dir_make(&f->dir), 0);
    snprintf(f->run, sizeof f->run, "%.63s/run", f->dir.path);
    lp__clock_init(false);
    f->options = (struct lp_store_options){.run_dir = f->run,
                                           .host = "here",
                                           .attempt = "attempt",
                                           .choice = choice,
                                           .pid = (uint32_t)getpid(),
                                           .pid_start = lp__process_start(getpid())};
    lp__host_identity(f->options.boot_id, &f->options.pid_namespace);
}

static void open_store(struct fixture *f, enum lp_store_choice choice)
{
    prepare(f, choice);
    assert_int_equal(lp__store_open(&f->store, &f->options, NULL), 0);
}

static void close_store(struct fixture *f)
{
    lp__store_finish(&f->store);
    lp__store_release(&f->store);
    assert_int_equal(temp_dir_remove(&f->dir), 0);
}

/* -- reading back ------------------------------------------------------------------------------------------------ */

struct image {
    struct lp_buf bytes;
    struct lp_arena arena;
    struct lp_image image;
};

static void read_file(struct image *image, const char *path)
{
    lp__buf_init(&image->bytes, (size_t)1 << 30);
    lp__arena_init(&image->arena, (size_t)64 << 20);
    assert_int_equal(lp__slurp(path, &image->bytes, NULL), 0);
    assert_int_equal(lp__image_index(&image->image, image->bytes.data, image->bytes.len, &image->arena, NULL), 0);
}

static void release_image(struct image *image)
{
    lp__buf_release(&image->bytes);
    lp__arena_release(&image->arena);
}

static unsigned segments_of(const struct image *image, enum lp_segment_type type)
{
    unsigned count = 0;
    size_t i;
    for (i = 0; i < image->image.segment_count; i++)
        count += image->image.segments[i].type == type;
    return count;
}

static bool exists(const char *path)
{
    struct stat st;
    return path[0] && stat(path, &st) == 0;
}

/* -- a new file -------------------------------------------------------------------------------------------------- */

static void test_a_new_file_is_whole(void **state)
{
    struct fixture f;
    struct image image;
    struct stat st;
    (void)state;
    open_store(&f, LP_STORE_AUTO);
    assert_int_equal(strncmp(f.store.path, f.run, strlen(f.run)), 0);
    assert_string_equal(f.store.path, f.store.live_path);
    assert_int_equal(stat(f.store.path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, 65536);
    assert_true(st.st_blocks * 512 >= 65536); /* reserved, not sparse */
    read_file(&image, f.store.path);
    assert_false(image.image.header_damaged);
    assert_int_equal(image.image.header.state, LP_STATE_RUNNING);
    assert_int_equal(image.image.header.place, LP_PLACE_RUN_DIR);
    assert_int_equal(image.image.header.pid, getpid());
    assert_int_equal(image.image.header.copy_interval_ms, 0);
    assert_int_equal(image.image.header.wall_clock, lp__clock.wall);
    assert_true(image.image.header.created_ticks <= image.image.header.heartbeat_ticks);
    assert_int_equal(segments_of(&image, LP_SEGMENT_FACTS), 1);
    assert_int_equal(segments_of(&image, LP_SEGMENT_CLOCK), 1);
    assert_int_equal(segments_of(&image, LP_SEGMENT_NAMES), 1);
    assert_int_equal(segments_of(&image, LP_SEGMENT_THREADS), 1);
    assert_int_equal(image.image.damaged_segments, 0);
    release_image(&image);
    close_store(&f);
}

static void test_the_end_is_marked(void **state)
{
    struct fixture f;
    struct image image;
    char path[PATH_MAX];
    (void)state;
    open_store(&f, LP_STORE_AUTO);
    memcpy(path, f.store.path, sizeof path);
    lp__store_finish(&f.store);
    lp__store_release(&f.store);
    lp__store_release(&f.store); /* nothing left to release */
    read_file(&image, path);
    assert_int_equal(image.image.header.state, LP_STATE_FINISHED);
    assert_int_equal(image.image.header.closed_ticks, image.image.header.heartbeat_ticks);
    release_image(&image);
    assert_int_equal(temp_dir_remove(&f.dir), 0);
}

/* -- growth ------------------------------------------------------------------------------------------------------ */

static void test_growth_moves_nothing(void **state)
{
    static char text[20000];
    struct fixture f;
    struct image image;
    struct lp_text found;
    lp_ref refs[400];
    const uint8_t *base;
    size_t i;
    (void)state;
    memset(text, 'n', sizeof text);
    open_store(&f, LP_STORE_AUTO);
    base = f.store.base;
    for (i = 0; i < 400; i++) {
        errno = 7;
        refs[i] = lp__store_name(&f.store, text, i * 50);
        assert_true(refs[i] != 0);
        assert_int_equal(errno, 7);
    }
    assert_ptr_equal(f.store.base, base);
    assert_true(f.store.mapped > 2u << 20);
    read_file(&image, f.store.path);
    assert_int_equal(image.bytes.len, f.store.mapped);
    assert_int_equal(image.image.header.file_bytes, f.store.mapped);
    assert_int_equal(image.image.damaged_segments, 0);
    for (i = 0; i < 400; i++) {
        assert_true(lp__image_name(&image.image, refs[i], &found));
        assert_int_equal(found.len, i * 50);
        assert_memory_equal(found.bytes, text, found.len);
    }
    assert_true(segments_of(&image, LP_SEGMENT_NAMES) > 1);
    release_image(&image);
    close_store(&f);
}

static void test_segments_have_room_and_an_owner(void **state)
{
    struct fixture f;
    struct lp_segment_header *segment;
    uint8_t *record;
    uint64_t i, room;
    (void)state;
    open_store(&f, LP_STORE_AUTO);
    segment = lp__store_segment(&f.store, LP_SEGMENT_NODES, 3, 384, 5000);
    assert_non_null(segment);
    assert_int_equal(segment->thread, 3);
    assert_int_equal(segment->capacity % LP_SEGMENT_ALIGN, 0);
    room = segment->capacity - sizeof *segment;
    assert_true(room >= 5000);
    for (i = 0; (record = lp__segment_next(segment, 384)); i++) {
        assert_int_equal(record[0] | record[383], 0);
        lp__segment_commit(segment, 384);
    }
    assert_int_equal(i, room / 384);
    assert_null(lp__segment_next(NULL, 8));
    close_store(&f);
}

static void test_beyond_the_ceiling_growth_is_refused_and_counted(void **state)
{
    static char text[60000];
    struct fixture f;
    unsigned written = 0;
    (void)state;
    prepare(&f, LP_STORE_AUTO);
    f.options.ceiling_bytes = 256 * 1024;
    assert_int_equal(lp__store_open(&f.store, &f.options, NULL), 0);
    while (lp__store_name(&f.store, text, sizeof text))
        written++;
    assert_true(written >= 2);
    assert_true(f.store.mapped <= 256 * 1024);
    assert_int_equal(lp__store_header(&f.store)->write_failures, 1);
    assert_int_equal(lp__store_header(&f.store)->grow_errno, EFBIG);
    assert_int_equal(lp__store_name(&f.store, text, sizeof text), 0);
    assert_int_equal(lp__store_header(&f.store)->write_failures, 1); /* at most once a second */
    while (lp__store_segment(&f.store, LP_SEGMENT_NODES, 1, 8, 8)) { /* small ones until nothing is left */
    }
    assert_int_equal(f.store.mapped, 256 * 1024);
    assert_true(lp__store_header(&f.store)->tiled_bytes <= f.store.mapped);
    assert_true(lp__store_header(&f.store)->tiled_bytes + 2 * LP_SEGMENT_ALIGN > f.store.mapped);
    close_store(&f);
}

static void test_limits_of_names_and_facts(void **state)
{
    struct fixture f;
    struct image image;
    struct lp_text found;
    char *huge = calloc(1, LP_MAX_NAME_BYTES + 1), *key = calloc(1, 300);
    (void)state;
    assert_true(huge && key);
    memset(key, 'k', 299);
    open_store(&f, LP_STORE_AUTO);
    assert_true(lp__store_name(&f.store, huge, LP_MAX_NAME_BYTES) != 0);
    assert_int_equal(lp__store_name(&f.store, huge, LP_MAX_NAME_BYTES + 1), 0);
    lp__store_fact(&f.store, "fits", huge, 65536);
    lp__store_fact(&f.store, "long", huge, 65537);
    lp__store_fact(&f.store, key, "v", 1);
    key[255] = '\0';
    lp__store_fact(&f.store, key, "v\0w", 3);
    read_file(&image, f.store.path);
    assert_true(lp__image_fact(&image.image, "fits", &found));
    assert_int_equal(found.len, 65536);
    assert_false(lp__image_fact(&image.image, "long", &found));
    assert_true(lp__image_fact(&image.image, key, &found));
    assert_int_equal(found.len, 3);
    release_image(&image);
    free(huge);
    free(key);
    close_store(&f);
}

static void test_thread_records_are_numbered(void **state)
{
    struct fixture f;
    uint32_t i;
    (void)state;
    open_store(&f, LP_STORE_AUTO);
    for (i = 0; i < 100; i++)
        assert_int_equal(lp__store_thread_record(&f.store)->index, i);
    close_store(&f);
}

/* -- clock ------------------------------------------------------------------------------------------------------- */

/* Heartbeats `ns` apart, as far as the store can tell. */
static void beat_later(struct fixture *f, uint64_t ns)
{
    f->store.clock_last_ns -= ns;
    lp__store_heartbeat(&f->store, false);
}

static void assert_pairs(const struct fixture *f, uint64_t first)
{
    const struct lp_clock_record *records = (const void *)(f->store.clock + 1);
    uint64_t used = f->store.clock->used / sizeof *records, i;
    assert_int_equal(records[0].ticks, first);
    for (i = 0; i < LP_CLOCK_RECORDS; i++) {
        uint64_t check = records[i].ticks ^ records[i].mono_ns ^ records[i].real_ns ^ LP_CLOCK_CHECK;
        assert_int_equal(records[i].check, i < used ? check : 0);
        if (i && i < used) assert_true(records[i].mono_ns > records[i - 1].mono_ns);
    }
}

static void test_clock_pairs_are_thinned_and_span_the_run(void **state)
{
    struct fixture f;
    const struct lp_clock_record *records;
    uint64_t first, used, i;
    (void)state;
    open_store(&f, LP_STORE_AUTO);
    records = (const void *)(f.store.clock + 1);
    first = records[0].ticks;
    for (i = 0; i < 1000; i++) {
        beat_later(&f, f.store.clock_spacing_ns);
        used = f.store.clock->used / sizeof *records;
        assert_true(used <= LP_CLOCK_RECORDS && used >= (i < 40 ? 1 : LP_CLOCK_RECORDS / 2));
        assert_int_equal(records[used - 1].ticks, lp__store_header(&f.store)->heartbeat_ticks);
    }
    assert_pairs(&f, first);
    assert_true(f.store.clock_spacing_ns > UINT64_C(1) << 55); /* doubled each time */
    close_store(&f);
}

static void test_snapshots_do_not_use_the_pairs_up(void **state)
{
    struct fixture f;
    const struct lp_clock_record *records;
    uint64_t first, i;
    (void)state;
    open_store(&f, LP_STORE_AUTO);
    records = (const void *)(f.store.clock + 1);
    first = records[0].ticks;
    for (i = 0; i < 1000; i++)
        lp__store_heartbeat(&f.store, true);
    assert_int_equal(f.store.clock->used, 2 * sizeof *records);
    assert_int_equal(f.store.clock_spacing_ns, 1000000000);
    assert_int_equal(records[1].ticks, lp__store_header(&f.store)->heartbeat_ticks);
    beat_later(&f, UINT64_C(1000000000));
    lp__store_heartbeat(&f.store, true);
    assert_int_equal(f.store.clock->used, 3 * sizeof *records);
    assert_pairs(&f, first);
    close_store(&f);
}

static void test_a_heartbeat_takes_a_pair_only_when_one_is_due(void **state)
{
    struct fixture f;
    uint64_t used, beat;
    (void)state;
    open_store(&f, LP_STORE_AUTO);
    used = f.store.clock->used;
    beat = lp__store_header(&f.store)->heartbeat_mono_ns;
    lp__store_heartbeat(&f.store, false);
    assert_int_equal(f.store.clock->used, used);
    assert_true(lp__store_header(&f.store)->heartbeat_mono_ns > beat);
    beat_later(&f, UINT64_C(1000000000));
    assert_int_equal(f.store.clock->used, used + sizeof(struct lp_clock_record));
    close_store(&f);
}

/* -- places ------------------------------------------------------------------------------------------------------ */

static void test_a_store_in_tmpfs_is_copied_and_then_removed(void **state)
{
    struct fixture f;
    struct image image;
    struct stat st;
    char live[PATH_MAX], path[PATH_MAX];
    lp_ref ref;
    struct lp_text text;
    (void)state;
    open_store(&f, LP_STORE_SHM);
    assert_int_equal(f.store.place, LP_PLACE_SHM);
    memcpy(live, f.store.live_path, sizeof live);
    memcpy(path, f.store.path, sizeof path);
    assert_int_equal(strncmp(live, "/dev/shm/lineprofiler-", 22), 0);
    assert_int_equal(strncmp(path, f.run, strlen(f.run)), 0);
    assert_true(exists(live) && !exists(path));
    assert_int_equal(stat("/dev/shm", &st), 0);
    ref = lp__store_name(&f.store, "early", 5);
    assert_int_equal(lp__store_copy_out(&f.store), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    read_file(&image, path);
    assert_int_equal(image.image.header.place, LP_PLACE_SHM);
    assert_int_equal(image.image.header.copy_interval_ms, 1000);
    assert_int_equal(image.image.header.state, LP_STATE_RUNNING);
    assert_true(lp__image_name(&image.image, ref, &text));
    release_image(&image);
    ref = lp__store_name(&f.store, "late", 4);
    lp__store_finish(&f.store);
    assert_false(exists(live));
    read_file(&image, path);
    assert_int_equal(image.image.header.state, LP_STATE_FINISHED);
    assert_true(lp__image_name(&image.image, ref, &text));
    release_image(&image);
    assert_int_equal(lp__store_name(&f.store, "afterwards", 10) != 0, 1); /* still mapped: late threads may write */
    lp__store_release(&f.store);
    assert_int_equal(temp_dir_remove(&f.dir), 0);
}

static void test_a_live_file_whose_last_copy_failed_stays(void **state)
{
    struct fixture f;
    char live[PATH_MAX];
    (void)state;
    open_store(&f, LP_STORE_SHM);
    memcpy(live, f.store.live_path, sizeof live);
    assert_int_equal(temp_dir_remove(&f.dir), 0);
    assert_int_equal(mkdir(f.dir.path, 0700), 0);
    assert_int_equal(temp_dir_put(&f.dir, "run", "a file", 6), 0); /* no directory can be made there now */
    assert_true(lp__store_copy_out(&f.store) != 0);
    assert_int_equal(lp__store_header(&f.store)->write_failures, 1);
    lp__store_finish(&f.store);
    lp__store_release(&f.store);
    assert_true(exists(live));
    assert_int_equal(unlink(live), 0);
    assert_int_equal(temp_dir_remove(&f.dir), 0);
}

static void test_a_removed_run_directory_is_made_again_for_a_copy(void **state)
{
    struct fixture f;
    (void)state;
    open_store(&f, LP_STORE_MEMORY);
    assert_int_equal(f.store.place, LP_PLACE_MEMORY);
    assert_string_equal(f.store.live_path, "");
    assert_int_equal(lp__store_copy_out(&f.store), 0);
    assert_true(exists(f.store.path));
    assert_int_equal(temp_dir_remove(&f.dir), 0);
    assert_int_equal(lp__store_copy_out(&f.store), 0);
    assert_true(exists(f.store.path));
    close_store(&f);
}

static void test_a_private_store_makes_nothing(void **state)
{
    struct fixture f;
    char workers[600];
    (void)state;
    open_store(&f, LP_STORE_PRIVATE);
    assert_int_equal(f.store.place, LP_PLACE_MEMORY);
    assert_string_equal(f.store.path, "");
    assert_true(lp__store_name(&f.store, "a name", 6) != 0);
    assert_int_equal(lp__store_copy_out(&f.store), 0);
    lp__store_finish(&f.store);
    assert_int_equal(lp__store_header(&f.store)->write_failures, 0);
    snprintf(workers, sizeof workers, "%.500s/workers", f.store.run_dir);
    assert_false(exists(workers));
    close_store(&f);
}

static void test_memory_grows_too(void **state)
{
    static char text[50000];
    struct fixture f;
    struct image image;
    int i;
    (void)state;
    open_store(&f, LP_STORE_MEMORY);
    for (i = 0; i < 100; i++)
        assert_true(lp__store_name(&f.store, text, sizeof text) != 0);
    assert_int_equal(lp__store_copy_out(&f.store), 0);
    read_file(&image, f.store.path);
    assert_int_equal(image.image.damaged_segments, 0);
    assert_int_equal(image.bytes.len, image.image.header.tiled_bytes); /* the used part only */
    release_image(&image);
    close_store(&f);
}

static void test_without_a_run_directory_recording_goes_on_and_says_why(void **state)
{
    struct fixture f;
    (void)state;
    prepare(&f, LP_STORE_AUTO);
    assert_int_equal(temp_dir_put(&f.dir, "run", "a file", 6), 0);
    assert_int_equal(lp__store_open(&f.store, &f.options, NULL), 0);
    assert_int_not_equal(f.store.place, LP_PLACE_RUN_DIR);
    assert_string_equal(f.store.why_not_run_dir, "the run directory cannot be made or written");
    assert_string_equal(f.store.path, "");
    assert_true(lp__store_name(&f.store, "n", 1) != 0);
    assert_int_equal(lp__store_copy_out(&f.store), LP_ERR_IO);
    assert_int_equal(lp__store_header(&f.store)->write_failures, 1);
    /* once it can be made, the copies go there */
    assert_int_equal(temp_dir_remove(&f.dir), 0);
    assert_int_equal(lp__store_copy_out(&f.store), 0);
    assert_true(exists(f.store.path));
    close_store(&f);
}

static void test_a_live_file_that_nobody_could_find_goes_in_the_end(void **state)
{
    struct fixture f;
    char live[PATH_MAX];
    (void)state;
    prepare(&f, LP_STORE_AUTO);
    assert_int_equal(temp_dir_put(&f.dir, "run", "a file", 6), 0);
    assert_int_equal(lp__store_open(&f.store, &f.options, NULL), 0);
    assert_int_equal(f.store.place, LP_PLACE_SHM);
    memcpy(live, f.store.live_path, sizeof live);
    assert_true(exists(live));
    lp__store_finish(&f.store);
    assert_false(exists(live));
    lp__store_release(&f.store);
    assert_int_equal(temp_dir_remove(&f.dir), 0);
}

static void test_a_shared_run_is_readable_by_the_group_whatever_the_umask(void **state)
{
    static const enum lp_store_choice choices[] = {LP_STORE_RUN_DIR, LP_STORE_MEMORY};
    mode_t before = umask(077);
    size_t i;
    (void)state;
    for (i = 0; i < 2; i++) {
        struct fixture f;
        struct stat st;
        prepare(&f, choices[i]);
        f.options.share_group = true;
        assert_int_equal(lp__store_open(&f.store, &f.options, NULL), 0);
        assert_int_equal(lp__store_copy_out(&f.store), 0);
        assert_int_equal(stat(f.store.path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0660);
        close_store(&f);
    }
    umask(before);
}

static void test_a_child_abandons_without_a_trace(void **state)
{
    struct fixture f;
    struct image before, after;
    int status;
    pid_t pid;
    (void)state;
    open_store(&f, LP_STORE_AUTO);
    (void)lp__store_name(&f.store, "n", 1);
    read_file(&before, f.store.path);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        lp__store_abandon(&f.store);
        _exit(f.store.base != NULL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    read_file(&after, f.store.path);
    assert_int_equal(before.bytes.len, after.bytes.len);
    assert_memory_equal(before.bytes.data, after.bytes.data, before.bytes.len);
    release_image(&before);
    release_image(&after);
    close_store(&f);
}

/* -- the folder in tmpfs ----------------------------------------------------------------------------------------- */

/* As a user of no other process, whose folder nobody else is using. */
static void as_user(uid_t user, int (*body)(const char *folder))
{
    char folder[64];
    int status;
    pid_t pid;
    if (geteuid() != 0) skip();
    snprintf(folder, sizeof folder, "/dev/shm/lineprofiler-%u", (unsigned)user);
    (void)rmdir(folder);
    (void)unlink(folder);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(setresuid(user, user, user) ? 99 : body(folder));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)rmdir(folder);
    (void)unlink(folder);
    assert_int_equal(status, 0);
}

static int make_twice(const char *folder)
{
    char path[64];
    struct stat st;
    int fd = lp__backing_shm_directory(path, false);
    if (fd >= 0 || strcmp(path, folder) != 0) return 1;
    umask(0);
    fd = lp__backing_shm_directory(path, true);
    if (fd < 0 || fstat(fd, &st) || (st.st_mode & 07777) != 0700) return 2;
    close(fd);
    fd = lp__backing_shm_directory(path, true);
    return fd < 0 ? 3 : close(fd);
}

static int open_to_others(const char *folder)
{
    char path[64];
    return mkdir(folder, 0700) || chmod(folder, 0750) || lp__backing_shm_directory(path, true) != -EACCES;
}

static int a_link(const char *folder)
{
    char path[64], target[64] = "/tmp/lineprofiler-link-XXXXXX";
    int rc;
    if (mkdtemp(target) == NULL || symlink(target, folder)) return 1;
    rc = lp__backing_shm_directory(path, true);
    rmdir(target);
    return rc < 0 ? 0 : 2;
}

static void test_the_folder_in_tmpfs_is_made_for_oneself(void **state)
{
    (void)state;
    as_user(54321, make_twice);
}

static void test_a_folder_that_others_may_enter_is_not_used(void **state)
{
    (void)state;
    as_user(54322, open_to_others);
}

static void test_a_link_in_tmpfs_is_not_followed(void **state)
{
    (void)state;
    as_user(54323, a_link);
}

static void test_another_users_folder_is_not_used(void **state)
{
    char folder[] = "/dev/shm/lineprofiler-54324", path[64];
    int status;
    pid_t pid;
    (void)state;
    if (geteuid() != 0) skip();
    (void)rmdir(folder);
    assert_int_equal(mkdir(folder, 0700), 0); /* root's */
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* another user, but one who may open anything */
        if (seteuid(54324)) _exit(99);
        (void)setfsuid(0);
        _exit(lp__backing_shm_directory(path, true) != -EACCES);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_file_is_whole),
        cmocka_unit_test(test_the_end_is_marked),
        cmocka_unit_test(test_growth_moves_nothing),
        cmocka_unit_test(test_segments_have_room_and_an_owner),
        cmocka_unit_test(test_beyond_the_ceiling_growth_is_refused_and_counted),
        cmocka_unit_test(test_limits_of_names_and_facts),
        cmocka_unit_test(test_thread_records_are_numbered),
        cmocka_unit_test(test_clock_pairs_are_thinned_and_span_the_run),
        cmocka_unit_test(test_snapshots_do_not_use_the_pairs_up),
        cmocka_unit_test(test_a_heartbeat_takes_a_pair_only_when_one_is_due),
        cmocka_unit_test(test_a_store_in_tmpfs_is_copied_and_then_removed),
        cmocka_unit_test(test_a_live_file_whose_last_copy_failed_stays),
        cmocka_unit_test(test_a_removed_run_directory_is_made_again_for_a_copy),
        cmocka_unit_test(test_a_private_store_makes_nothing),
        cmocka_unit_test(test_memory_grows_too),
        cmocka_unit_test(test_without_a_run_directory_recording_goes_on_and_says_why),
        cmocka_unit_test(test_a_live_file_that_nobody_could_find_goes_in_the_end),
        cmocka_unit_test(test_a_shared_run_is_readable_by_the_group_whatever_the_umask),
        cmocka_unit_test(test_a_child_abandons_without_a_trace),
        cmocka_unit_test(test_the_folder_in_tmpfs_is_made_for_oneself),
        cmocka_unit_test(test_a_folder_that_others_may_enter_is_not_used),
        cmocka_unit_test(test_a_link_in_tmpfs_is_not_followed),
        cmocka_unit_test(test_another_users_folder_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
