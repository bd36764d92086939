/* Who launched us: a table of environments per launcher, nested launchers, disagreements and broken numbers. */
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "os/launch.h"

/* An environment is a list of "NAME=value". */
static const char *look_up(const char *name, void *arg)
{
    size_t len = strlen(name);
    for (const char *const *item = arg; *item; item++)
        if (!strncmp(*item, name, len) && (*item)[len] == '=') return *item + len + 1;
    return NULL;
}

static struct lp_launch launch;

#define READ(...) lp__launch_read(&launch, look_up, (const char *[]){__VA_ARGS__, NULL})

static void assert_launch(const char *launcher, int64_t rank, int64_t world_size, int64_t local_rank)
{
    assert_string_equal(launch.launcher, launcher);
    assert_int_equal(launch.rank, rank);
    assert_int_equal(launch.world_size, world_size);
    assert_int_equal(launch.local_rank, local_rank);
}

static void test_no_launcher(void **state)
{
    (void)state;
    READ("HOME=/root");
    assert_launch("", -1, -1, -1);
    assert_string_equal(launch.attempt, "");
    assert_string_equal(launch.job, "");
    assert_string_equal(launch.conflicts, "");
}

static void test_torchrun(void **state)
{
    (void)state;
    READ("RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=1", "TORCHELASTIC_RUN_ID=exp7", "TORCHELASTIC_RESTART_COUNT=0",
         "MASTER_ADDR=node1", "MASTER_PORT=29400");
    assert_launch("torchrun", 3, 4, 1);
    assert_string_equal(launch.attempt, "torch-exp7-29400");
    assert_string_equal(launch.job, "torchrun exp7");
    assert_false(launch.attempt_is_weak);
    READ("RANK=3", "WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=exp7", "TORCHELASTIC_RESTART_COUNT=2", "MASTER_PORT=29400");
    assert_string_equal(launch.attempt, "torch-exp7-29400-restart2");
}

static void test_torchrun_without_a_name_is_weak(void **state)
{
    (void)state;
    READ("RANK=0", "WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=none", "TORCHELASTIC_RESTART_COUNT=1", "MASTER_ADDR=10.0.0.1",
         "MASTER_PORT=29500");
    assert_launch("torchrun", 0, 2, -1);
    assert_string_equal(launch.attempt, "torch-10.0.0.1-29500-of2-restart1");
    assert_true(launch.attempt_is_weak);
}

/* One node: the agent's folder tells launches apart even when name and port are the same. */
static void test_torchrun_on_one_node(void **state)
{
    (void)state;
    char first[128];
    READ("RANK=0", "WORLD_SIZE=2", "GROUP_WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=none", "MASTER_ADDR=h",
         "MASTER_PORT=29500", "TORCHELASTIC_RESTART_COUNT=0",
         "TORCHELASTIC_ERROR_FILE=/tmp/torchelastic_ab/none_cd/attempt_0/0/error.json");
    memcpy(first, launch.attempt, sizeof first);
    assert_string_equal(first, "torch-none_cd");
    assert_false(launch.attempt_is_weak);
    READ("RANK=1", "WORLD_SIZE=2", "GROUP_WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=none", "MASTER_ADDR=h",
         "MASTER_PORT=29500", "TORCHELASTIC_RESTART_COUNT=0",
         "TORCHELASTIC_ERROR_FILE=/tmp/torchelastic_ab/none_cd/attempt_0/1/error.json");
    assert_string_equal(launch.attempt, first);
    READ("RANK=1", "WORLD_SIZE=2", "GROUP_WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=none", "MASTER_ADDR=h",
         "MASTER_PORT=29500", "TORCHELASTIC_RESTART_COUNT=0",
         "TORCHELASTIC_ERROR_FILE=/tmp/torchelastic_ab/none_ef/attempt_0/1/error.json");
    assert_string_not_equal(launch.attempt, first);
    READ("RANK=1", "WORLD_SIZE=4", "GROUP_WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=none", "MASTER_ADDR=h",
         "MASTER_PORT=29500", "TORCHELASTIC_ERROR_FILE=/tmp/torchelastic_ab/none_ef/attempt_0/1/error.json");
    assert_string_equal(launch.attempt, "torch-h-29500-of4"); /* the folder is another one on each node */
}

static void test_rank_and_size_alone(void **state)
{
    (void)state;
    READ("RANK=2", "WORLD_SIZE=4");
    assert_launch("env", 2, 4, -1);
    READ("RANK=2"); /* too common a name to mean a launcher */
    assert_launch("", -1, -1, -1);
    READ("RANK=2", "WORLD_SIZE=0");
    assert_launch("", -1, -1, -1);
}

static void test_open_mpi(void **state)
{
    (void)state;
    READ("OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1", "PMIX_RANK=5",
         "PMIX_NAMESPACE=prterun-host-1234@1");
    assert_launch("openmpi", 5, 8, 1);
    assert_true(!strncmp(launch.attempt, "pmix-prterun-host-1234_1-", 25)); /* "@" replaced, hash added */
    assert_string_equal(launch.conflicts, "");
    READ("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2", "OMPI_MCA_ess_base_jobid=3932160001");
    assert_string_equal(launch.attempt, "openmpi-3932160001");
}

static void test_pmi(void **state)
{
    (void)state;
    READ("PMI_RANK=1", "PMI_SIZE=4", "MPI_LOCALRANKID=1"); /* MPICH's Hydra */
    assert_launch("pmi", 1, 4, 1);
    assert_string_equal(launch.attempt, "");
    READ("PMI_RANK=1", "PMI_SIZE=4", "PMI_JOBID=77.1");
    assert_string_equal(launch.attempt, "pmi-77.1");
    READ("PMI_RANK=1", "PMI_SIZE=4", "PMI_PORT=host:4321");
    assert_true(!strncmp(launch.attempt, "pmi-host_4321-", 14));
    assert_true(launch.attempt_is_weak);
    READ("PMIX_RANK=1", "PMIX_NAMESPACE=slurm.pmix.77.1");
    assert_launch("pmi", 1, -1, -1);
    assert_string_equal(launch.attempt, "pmix-slurm.pmix.77.1");
}

static void test_slurm_step(void **state)
{
    (void)state;
    READ("SLURM_JOB_ID=1234", "SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_NTASKS=4", "SLURM_LOCALID=0");
    assert_launch("slurm", 1, 4, 0);
    assert_string_equal(launch.attempt, "slurm-1234.0");
    assert_string_equal(launch.job, "slurm 1234.0");
    assert_false(launch.attempt_is_weak);
    READ("SLURM_JOB_ID=1234", "SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_NTASKS=4", "SLURM_RESTART_COUNT=1");
    assert_string_equal(launch.attempt, "slurm-1234.0-restart1");
    READ("SLURM_JOB_ID=1234", "SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_NTASKS=16", "SLURM_STEP_NUM_TASKS=2");
    assert_int_equal(launch.world_size, 2);
}

/* Behaviour D6: two ranks of one step agree on the attempt and know themselves apart. */
static void test_ranks_of_one_step_find_each_other(void **state)
{
    (void)state;
    struct lp_launch other;
    READ("SLURM_JOB_ID=9", "SLURM_STEP_ID=3", "SLURM_PROCID=0", "SLURM_NTASKS=2");
    other = launch;
    READ("SLURM_JOB_ID=9", "SLURM_STEP_ID=3", "SLURM_PROCID=1", "SLURM_NTASKS=2");
    assert_string_equal(launch.attempt, other.attempt);
    assert_int_not_equal(launch.rank, other.rank);
    READ("SLURM_JOB_ID=9", "SLURM_STEP_ID=4", "SLURM_PROCID=1", "SLURM_NTASKS=2");
    assert_string_not_equal(launch.attempt, other.attempt);
}

static void test_batch_script_is_no_rank(void **state)
{
    (void)state;
    READ("SLURM_JOB_ID=1234", "SLURM_PROCID=0", "SLURM_NTASKS=4");
    assert_launch("", -1, -1, -1);
    assert_string_equal(launch.job, "slurm 1234");
    assert_string_equal(launch.attempt, "");
    READ("SLURM_JOB_ID=1234", "SLURM_STEP_ID=batch", "SLURM_PROCID=0", "SLURM_NTASKS=4");
    assert_launch("", -1, -1, -1);
}

static void test_ray_worker_does_not_take_the_step_rank(void **state)
{
    (void)state;
    READ("RAY_RAYLET_PID=17", "RAY_JOB_ID=01000000", "SLURM_JOB_ID=9", "SLURM_STEP_ID=3", "SLURM_PROCID=0",
         "SLURM_NTASKS=2");
    assert_string_equal(launch.launcher, "ray");
    assert_int_equal(launch.rank, -1);
    assert_int_equal(launch.world_size, -1);
    assert_true(launch.attempt_is_weak);
    READ("RAY_RAYLET_PID=17", "RANK=1", "WORLD_SIZE=2", "SLURM_JOB_ID=9", "SLURM_STEP_ID=3", "SLURM_PROCID=0",
         "SLURM_NTASKS=1");
    assert_launch("env", 1, 2, -1); /* Ray Train gives its workers ranks */
    assert_string_equal(launch.conflicts, "");
}

static void test_flux_lsf_pbs_kubernetes(void **state)
{
    (void)state;
    READ("FLUX_JOB_ID=fABC", "FLUX_TASK_RANK=2", "FLUX_JOB_SIZE=4", "FLUX_TASK_LOCAL_ID=0");
    assert_launch("flux", 2, 4, 0);
    assert_string_equal(launch.attempt, "flux-fABC");
    READ("LSB_JOBID=55", "LSB_JOBINDEX=2", "JSM_NAMESPACE_ID=7", "JSM_NAMESPACE_RANK=1", "JSM_NAMESPACE_SIZE=6",
         "JSM_NAMESPACE_LOCAL_RANK=1");
    assert_launch("lsf", 1, 6, 1);
    assert_string_equal(launch.attempt, "lsf-55.2.7");
    READ("PBS_JOBID=99.server", "PBS_TASKNUM=3", "PBS_VNODENUM=1");
    assert_launch("pbs", 1, -1, -1);
    assert_string_equal(launch.attempt, "pbs-99.server");
    READ("PBS_JOBID=99.server", "PBS_TASKNUM=1", "PBS_VNODENUM=0"); /* the job script itself */
    assert_launch("", -1, -1, -1);
    assert_string_equal(launch.job, "pbs 99.server");
    READ("JOB_COMPLETION_INDEX=4", "HOSTNAME=train-4");
    assert_launch("kubernetes", 4, -1, -1);
    assert_string_equal(launch.attempt, "kubernetes-train");
    READ("JOB_COMPLETION_INDEX=4", "HOSTNAME=other-5");
    assert_launch("kubernetes", 4, -1, -1);
    assert_string_equal(launch.attempt, "");
}

/* srun starts one torchrun per node, which starts eight workers each. */
static void test_outer_launcher_is_no_disagreement(void **state)
{
    (void)state;
    READ("RANK=13", "WORLD_SIZE=16", "LOCAL_RANK=5", "TORCHELASTIC_RUN_ID=none", "MASTER_ADDR=n0", "MASTER_PORT=29500",
         "SLURM_JOB_ID=9", "SLURM_STEP_ID=3", "SLURM_PROCID=1", "SLURM_NTASKS=2");
    assert_launch("torchrun", 13, 16, 5);
    assert_string_equal(launch.conflicts, "");
    assert_string_equal(launch.attempt, "slurm-9.3-torch-n0-29500-of16");
    assert_true(launch.attempt_is_weak); /* the step may call torchrun again */
    assert_string_equal(launch.job, "slurm 9.3");
}

static void test_disagreement_is_listed(void **state)
{
    (void)state;
    READ("RANK=1", "WORLD_SIZE=4", "SLURM_JOB_ID=9", "SLURM_STEP_ID=3", "SLURM_PROCID=2", "SLURM_NTASKS=4");
    assert_launch("env", 1, 4, -1);
    assert_string_equal(launch.conflicts, "RANK=1 SLURM_PROCID=2");
    READ("RANK=1", "WORLD_SIZE=2", "SLURM_JOB_ID=9", "SLURM_STEP_ID=3", "SLURM_PROCID=1", "SLURM_NTASKS=4");
    assert_string_equal(launch.conflicts, "WORLD_SIZE=2 SLURM_NTASKS=4");
}

static void test_rank_outside_its_world(void **state)
{
    (void)state;
    READ("RANK=4", "WORLD_SIZE=4");
    assert_launch("env", 4, -1, -1);
    assert_string_equal(launch.conflicts, "RANK=4 WORLD_SIZE=4");
}

static void test_numbers_are_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {"OMPI_COMM_WORLD_RANK= 1",  "OMPI_COMM_WORLD_RANK=+1",
                                      "OMPI_COMM_WORLD_RANK=-1",  "OMPI_COMM_WORLD_RANK=1x",
                                      "OMPI_COMM_WORLD_RANK=0x1", "OMPI_COMM_WORLD_RANK=1.0",
                                      "OMPI_COMM_WORLD_RANK=1e3", "OMPI_COMM_WORLD_RANK=99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        READ(bad[i], "OMPI_COMM_WORLD_SIZE=4");
        assert_launch("", -1, -1, -1);
        assert_string_equal(launch.conflicts, bad[i]);
    }
    READ("OMPI_COMM_WORLD_RANK=", "OMPI_COMM_WORLD_SIZE=4"); /* empty is unset */
    assert_string_equal(launch.conflicts, "");
    READ("RANK=first", "WORLD_SIZE=4");
    assert_string_equal(launch.conflicts, "RANK=first");
}

/* Whatever the launcher's id holds, ours is a short file name; and different ids stay different. */
static void test_hostile_ids(void **state)
{
    (void)state;
    char long_id[600], a[128];
    memset(long_id, 'x', sizeof long_id);
    memcpy(long_id, "TORCHELASTIC_RUN_ID=", 20);
    long_id[sizeof long_id - 1] = '\0';
    READ("RANK=0", "WORLD_SIZE=1", long_id);
    assert_true(strlen(launch.attempt) < sizeof launch.attempt);
    READ("RANK=0", "WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=../a");
    memcpy(a, launch.attempt, sizeof a);
    assert_null(strchr(launch.attempt, '/'));
    READ("RANK=0", "WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=.._a");
    assert_string_not_equal(launch.attempt, a);
}

static void test_conflicts_never_overflow(void **state)
{
    (void)state;
    char rank[400];
    memset(rank, 'z', sizeof rank);
    memcpy(rank, "PMI_RANK=", 9);
    rank[sizeof rank - 1] = '\0';
    READ(rank, "PMI_SIZE=a", "MPI_LOCALRANKID=b",
         "OMPI_COMM_WORLD_RANK=cccccccccccccccccccccccccccccccccccccccccccccccc",
         "OMPI_COMM_WORLD_SIZE=dddddddddddddddddddddddddddddddddddddd", "FLUX_TASK_RANK=eeeeeeeeeeeeeeeeeeeeeeeeeeee",
         "FLUX_JOB_SIZE=ffffffffffffffffffffffffffffffffffffffffffff", "JSM_NAMESPACE_RANK=ggggggggggggggggggggggggg");
    assert_true(strlen(launch.conflicts) < sizeof launch.conflicts);
    assert_non_null(strstr(launch.conflicts, "PMI_SIZE=a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_launcher),
        cmocka_unit_test(test_torchrun),
        cmocka_unit_test(test_torchrun_without_a_name_is_weak),
        cmocka_unit_test(test_torchrun_on_one_node),
        cmocka_unit_test(test_rank_and_size_alone),
        cmocka_unit_test(test_open_mpi),
        cmocka_unit_test(test_pmi),
        cmocka_unit_test(test_slurm_step),
        cmocka_unit_test(test_ranks_of_one_step_find_each_other),
        cmocka_unit_test(test_batch_script_is_no_rank),
        cmocka_unit_test(test_ray_worker_does_not_take_the_step_rank),
        cmocka_unit_test(test_flux_lsf_pbs_kubernetes),
        cmocka_unit_test(test_outer_launcher_is_no_disagreement),
        cmocka_unit_test(test_disagreement_is_listed),
        cmocka_unit_test(test_rank_outside_its_world),
        cmocka_unit_test(test_numbers_are_strict),
        cmocka_unit_test(test_hostile_ids),
        cmocka_unit_test(test_conflicts_never_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
