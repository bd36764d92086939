/* The report side of the core, for Python: loading runs, printing reports, the command line.  The interpreter lock is
 * released around the core's work. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include <string.h>
#include <time.h>

#include "analyse/report.h"
#include "base/buf.h"
#include "cli/cli.h"
#include "merge/run.h"
#include "os/clock.h"
#include "render/lines.h"

#define OUTPUT_CEILING ((size_t)1 << 30)

static PyObject *bytes_of(struct lpx_state *state, struct lp_buf *buf, const struct lp_error *err)
{
    PyObject *bytes = NULL;
    if (buf->failed) {
        struct lp_error failed = {.code = buf->failed};
        lpx_raise(state, err->code ? err : &failed);
    } else {
        bytes = PyBytes_FromStringAndSize(buf->len ? buf->data : "", (Py_ssize_t)buf->len);
    }
    lp__buf_release(buf);
    return bytes;
}

/* A path as the system's bytes; an owned bytes object in *holder. */
static const char *path_bytes(PyObject *path, PyObject **holder)
{
    if (!PyUnicode_FSConverter(path, holder)) return NULL;
    return PyBytes_AS_STRING(*holder);
}

PyObject *lpx_load_run(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"run_dir",   "attempt",   "ranks",         "roles", "hosts",
                               "any_owner", "read_only", "process_trees", NULL};
    struct lpx_state *state = lpx_state_of(module);
    struct lp_run_options options = {0};
    struct lp_error err = {0};
    struct lp_run *run = NULL;
    struct lp_buf out;
    PyObject *path, *holder = NULL;
    const char *run_dir;
    int any_owner = 0, read_only = 0, trees = 1, rc;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$zzzzppp:load_run", keywords, &path, &options.attempt,
                                     &options.ranks, &options.roles, &options.hosts, &any_owner, &read_only, &trees))
        return NULL;
    run_dir = path_bytes(path, &holder);
    if (run_dir == NULL) return NULL;
    options.any_owner = any_owner != 0;
    options.read_only = read_only != 0;
    options.keep_process_trees = trees != 0;
    lp__buf_init(&out, OUTPUT_CEILING);
    Py_BEGIN_ALLOW_THREADS rc = lp__run_load(run_dir, &options, &run, &err);
    if (rc == 0) lp__render_run_json(run, &out);
    lp__run_free(run);
    Py_END_ALLOW_THREADS Py_DECREF(holder);
    if (rc == 0) return bytes_of(state, &out, &err);
    lp__buf_release(&out);
    return lpx_raise(state, &err);
}

static int build_report(const char *run_dir, const struct lp_run_options *how, bool json, unsigned width,
                        struct lp_buf *out, struct lp_error *err)
{
    struct lp_report_options options = {0};
    struct lp_text_options text = {.width = width, .utf8 = true};
    struct lp_run *run = NULL;
    struct lp_report *report = NULL;
    struct lp_line_report *lines = NULL;
    int rc = lp__run_load(run_dir, how, &run, err);
    options.now_real_ns = (double)lp__real_ns();
    if (rc == 0) rc = lp__report_build(run, &options, &report, err);
    if (rc == 0) rc = lp__lines_build(run, &lines, err);
    if (rc == 0) {
        if (json)
            lp__render_json_with(report, lines, out);
        else
            lp__render_text_with(report, lines, &text, out);
    }
    lp__lines_free(lines);
    lp__report_free(report);
    lp__run_free(run);
    return rc;
}

PyObject *lpx_report(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"run_dir", "format", "attempt", "width", NULL};
    struct lpx_state *state = lpx_state_of(module);
    struct lp_run_options how = {.lines = true};
    struct lp_error err = {0};
    struct lp_buf out;
    PyObject *path, *holder = NULL;
    const char *run_dir, *format = "text";
    unsigned int width = 0;
    bool json;
    int rc;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|s$zI:report", keywords, &path, &format, &how.attempt, &width))
        return NULL;
    json = strcmp(format, "json") == 0;
    if (!json && strcmp(format, "text") != 0) {
        PyErr_Format(PyExc_ValueError, "format must be 'text' or 'json', not '%.50s'", format);
        return NULL;
    }
    run_dir = path_bytes(path, &holder);
    if (run_dir == NULL) return NULL;
    lp__buf_init(&out, OUTPUT_CEILING);
    Py_BEGIN_ALLOW_THREADS rc = build_report(run_dir, &how, json, width, &out, &err);
    Py_END_ALLOW_THREADS Py_DECREF(holder);
    if (rc == 0) return bytes_of(state, &out, &err);
    lp__buf_release(&out);
    return lpx_raise(state, &err);
}

static int dump_image(const void *bytes, uint64_t len, struct lp_buf *out, struct lp_error *err)
{
    struct lp_run *run = NULL;
    int rc = lp__run_load_image(bytes, len, &run, err);
    if (rc == 0) lp__render_run_json(run, out);
    lp__run_free(run);
    return rc;
}

PyObject *lpx_dump(struct lpx_state *state, struct lp_recording *recording)
{
    struct lp_error err = {0};
    struct lp_buf out;
    void *bytes = NULL;
    uint64_t len = 0;
    int rc;
    lp__buf_init(&out, OUTPUT_CEILING);
    Py_BEGIN_ALLOW_THREADS rc = lp__recording_copy(recording, &bytes, &len, &err);
    if (rc == 0 && len) rc = dump_image(bytes, len, &out, &err);
    lp__free(bytes);
    Py_END_ALLOW_THREADS if (rc == 0) return bytes_of(state, &out, &err);
    lp__buf_release(&out);
    return lpx_raise(state, &err);
}

/* -- command line ------------------------------------------------------------------------------------------------ */

static int fill_argv(PyObject *arguments, PyObject *holders, const char **argv)
{
    Py_ssize_t i, count = PyList_GET_SIZE(arguments);
    argv[0] = "lineprofiler";
    for (i = 0; i < count; i++) {
        PyObject *bytes = PyUnicode_EncodeFSDefault(PyList_GET_ITEM(arguments, i));
        if (bytes == NULL || PyList_Append(holders, bytes)) {
            Py_XDECREF(bytes);
            return -1;
        }
        argv[i + 1] = PyBytes_AS_STRING(bytes);
        Py_DECREF(bytes); /* the list keeps it */
    }
    argv[count + 1] = NULL;
    return 0;
}

static void add_tuple(PyObject *tuple, lp_cli_add_line *add, void *sink)
{
    struct lp_cli_line line;
    if (PyArg_ParseTuple(tuple, "sssi", &line.name, &line.value, &line.meaning, &line.passed)) add(sink, &line);
}

/* What Python knows best about its own installation. */
static void package_lines(lp_cli_add_line *add, void *sink)
{
    PyObject *module = PyImport_ImportModule("lineprofiler._doctor");
    PyObject *lines = module ? PyObject_CallMethod(module, "lines", NULL) : NULL;
    for (Py_ssize_t i = 0; lines && PyList_Check(lines) && i < PyList_GET_SIZE(lines); i++)
        add_tuple(PyList_GET_ITEM(lines, i), add, sink);
    Py_XDECREF(lines);
    Py_XDECREF(module);
    PyErr_Clear();
}

struct cli_call {
    struct lpx_state *state;
    PyThreadState *tstate; /* put aside while the core runs */
};

/* Called back from the core, without the lock, on the thread that called it. */
static void doctor_lines(void *arg, lp_cli_add_line *add, void *sink)
{
    const struct cli_call *call = arg;
    char version[64];
    struct lp_cli_line interpreter = {"interpreter", version, "", -1};
    struct lp_cli_line scopes = {"suspended phases", lpx_hosts_mechanism(&call->state->hosts),
                                 "how time in suspended generators and coroutines is told from work", -1};
    PyEval_RestoreThread(call->tstate);
    snprintf(version, sizeof version, "CPython %.40s", Py_GetVersion());
    version[strcspn(version, "(")] = '\0';
    add(sink, &interpreter);
    add(sink, &scopes);
    package_lines(add, sink);
    (void)PyEval_SaveThread();
}

PyObject *lpx_cli(PyObject *module, PyObject *arguments)
{
    struct cli_call call = {lpx_state_of(module), NULL};
    struct lp_cli_host host = {.name = "Python", .doctor_lines = doctor_lines, .arg = &call};
    PyObject *holders;
    const char **argv;
    int status = 2;
    if (!PyList_Check(arguments)) {
        PyErr_SetString(PyExc_TypeError, "cli() takes a list of str");
        return NULL;
    }
    holders = PyList_New(0);
    argv = PyMem_Calloc((size_t)PyList_GET_SIZE(arguments) + 2, sizeof *argv);
    if (holders && argv && fill_argv(arguments, holders, argv) == 0) {
        int argc = (int)PyList_GET_SIZE(arguments) + 1;
        call.tstate = PyEval_SaveThread();
        status = lp_cli_main_hosted(argc, argv, &host);
        PyEval_RestoreThread(call.tstate);
    }
    PyMem_Free(argv);
    Py_XDECREF(holders);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(status);
}

PyObject *lpx_clock_facts(PyObject *module, PyObject *unused)
{
    struct lpx_state *state = lpx_state_of(module);
    struct lp_clock_costs costs;
    (void)unused;
    lp__clock_init(false);
    costs = lp__clock_costs();
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:d,s:d,s:d,s:s}", "wall_clock", lp__wall_clock_name(lp__clock.wall),
                         "wall_refused", lp__clock.wall_refused, "cpu_clock", lp__cpu_clock_name(lp__clock.cpu),
                         "cpu_refused", lp__clock.cpu_refused, "wall_ns", costs.wall_ns, "cpu_ns", costs.cpu_ns,
                         "cpu_real_ns", costs.cpu_real_ns, "scopes", lpx_hosts_mechanism(&state->hosts));
}
