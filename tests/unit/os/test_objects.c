/* Loaded objects: what is there is found, what is not is not, nothing is loaded and errno stays. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "os/objects.h"

struct seen {
    int count;
    int stop_at;
    const void *first;
};

static bool see(const void *symbol, void *arg)
{
    struct seen *seen = arg;
    if (!seen->count++) seen->first = symbol;
    return seen->count == seen->stop_at;
}

static void test_symbol_of_another_object_is_found(void **state)
{
    struct seen seen = {0};
    (void)state;
    errno = EXDEV;
    lp__objects_each("group_test_setup_that_nobody_has", NULL, see, &seen);
    assert_int_equal(seen.count, 0);
    lp__objects_each("cmocka_set_message_output", NULL, see, &seen);
    assert_true(seen.count > 0);
    assert_ptr_equal(seen.first, dlsym(RTLD_DEFAULT, "cmocka_set_message_output"));
    assert_int_equal(errno, EXDEV);
}

static void test_own_definition_is_left_out(void **state)
{
    const void *own = dlsym(RTLD_DEFAULT, "cmocka_set_message_output");
    struct seen seen = {0};
    (void)state;
    lp__objects_each("cmocka_set_message_output", own, see, &seen);
    assert_int_equal(seen.count, 0);
}

static void test_visitor_ends_the_walk(void **state)
{
    struct seen all = {0}, one = {.stop_at = 1};
    (void)state;
    lp__objects_each("malloc", NULL, see, &all); /* through several objects that need the C library */
    lp__objects_each("malloc", NULL, see, &one);
    assert_true(all.count > 1);
    assert_int_equal(one.count, 1);
}

static atomic_bool enough;
static atomic_int loads;

static void *load(void *unused)
{
    (void)unused;
    while (!atomic_load(&enough)) {
        void *handle = dlopen("libresolv.so.2", RTLD_LAZY);
        if (handle) dlclose(handle);
        atomic_fetch_add(&loads, 1);
    }
    return NULL;
}

/* With objects opened under the loader's list both threads would soon wait for each other. */
static void test_walks_while_another_thread_loads(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, load, NULL), 0);
    while (atomic_load(&loads) < 300) {
        struct seen seen = {0};
        lp__objects_each("cmocka_set_message_output", NULL, see, &seen);
        assert_true(seen.count > 0);
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbol_of_another_object_is_found),
        cmocka_unit_test(test_own_definition_is_left_out),
        cmocka_unit_test(test_visitor_ends_the_walk),
        cmocka_unit_test(test_walks_while_another_thread_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
