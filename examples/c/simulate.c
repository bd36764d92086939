/* Phases and counters from C: three threads move particles, and the report shows them as one program.
 *
 *     cc simulate.c $(pkg-config --cflags --libs lineprofiler) -pthread -o simulate && ./simulate profile
 *     lineprofiler report profile */
// SPDX-License-Identifier: MIT
#include <lineprofiler.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define STEPS   50
#define THREADS 3

static void sleep_ms(long ms)
{
    struct timespec pause = {0, ms * 1000000L};
    nanosleep(&pause, NULL);
}

static double move(int count)
{
    double sum = 0;
    LP_PHASE("move"); /* until the end of this block, however it is left */
    for (int i = 1; i <= count * 100; i++)
        sum += 1.0 / i;
    LP_COUNT("particles", count);
    return sum;
}

static void *simulate(void *result)
{
    double *sum = result;
    for (int step = 0; step < STEPS; step++) {
        LP_PHASE("step");
        *sum += move(1000);
        {
            LP_PHASE("exchange");
            sleep_ms(2);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    double sums[THREADS] = {0};
    lp_name run = lp_name_register("run"); /* for code that begins and ends in different places */
    lp_token token;

    if (lp_start(argc > 1 ? argv[1] : "profile", "simulator")) return 1;
    token = lp_phase_begin(run);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, simulate, &sums[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    lp_phase_end(token);
    lp_stop();
    printf("%d steps recorded by lineprofiler %s\n", THREADS * STEPS, lp_version());
    return 0;
}
