/* Line tables for Python: what was recorded, printed in the forms there are.  The interpreter lock is released around
 * the core's work. */
// SPDX-License-Identifier: MIT
#include "state.h"

#include <stdint.h>
#include <string.h>

#include "analyse/lines.h"
#include "base/buf.h"
#include "merge/run.h"
#include "render/html.h"
#include "render/lines.h"

#define OUTPUT_CEILING ((size_t)1 << 30)

enum form { FORM_FUNCTIONS, FORM_TOP, FORM_REGIONS, FORM_JSON, FORM_COLLAPSED, FORM_SPEEDSCOPE, FORM_HTML, FORM_COUNT };

static const char *const forms[] = {"functions", "top", "regions", "json", "collapsed", "speedscope", "html"};

struct request {
    enum form form;
    struct lp_lines_options options;
    const char *title;
    const char *run_dir;            /* NULL: the recording */
    struct lp_recording *recording; /* borrowed */
    struct lp_run_options load;
    struct lp_buf out;
    struct lp_error err;
};

/* -- the core's work --------------------------------------------------------------------------------------------- */

static int render_paths(struct request *request, const struct lp_line_report *report)
{
    struct lp_line_stacks *stacks = NULL;
    int rc = lp__line_stacks(report, &stacks, &request->err);
    if (rc == 0 && request->form == FORM_COLLAPSED) lp__render_lines_collapsed(report, stacks, &request->out);
    if (rc == 0 && request->form == FORM_SPEEDSCOPE) lp__render_lines_speedscope(report, stacks, &request->out);
    lp__line_stacks_free(stacks);
    return rc;
}

static int render_report(struct request *request, const struct lp_line_report *report)
{
    struct lp_html_options html = {.title = request->title, .why = request->options.why};
    switch (request->form) {
    case FORM_FUNCTIONS:
        lp__render_lines_functions(report, &request->options, &request->out);
        return 0;
    case FORM_TOP:
        lp__render_lines_top(report, &request->options, &request->out);
        return 0;
    case FORM_REGIONS:
        lp__render_lines_regions(report, &request->options, &request->out);
        return 0;
    case FORM_JSON:
        lp__render_lines_json(report, &request->out);
        return 0;
    case FORM_HTML:
        lp__render_lines_html(report, &html, &request->out);
        return 0;
    default:
        return render_paths(request, report);
    }
}

static int load(struct request *request, struct lp_run **run)
{
    void *bytes = NULL;
    uint64_t len = 0;
    int rc;
    request->load.lines = true;
    if (request->run_dir) return lp__run_load(request->run_dir, &request->load, run, &request->err);
    rc = lp__recording_copy(request->recording, &bytes, &len, &request->err);
    if (rc == 0) rc = lp__run_load_image_with(bytes, len, &request->load, run, &request->err);
    lp__free(bytes);
    return rc;
}

static int answer(struct request *request)
{
    struct lp_run *run = NULL;
    struct lp_line_report *report = NULL;
    int rc = load(request, &run);
    if (rc == 0) rc = lp__lines_build(run, &report, &request->err);
    if (rc == 0) rc = render_report(request, report);
    if (rc == 0 && request->out.failed)
        rc = lp__fail(&request->err, request->out.failed, 0, "while writing the report of lines");
    lp__lines_free(report);
    lp__run_free(run);
    return rc;
}

/* -- arguments --------------------------------------------------------------------------------------------------- */

static int take_form(struct request *request, const char *word)
{
    for (int i = 0; i < FORM_COUNT; i++) {
        if (strcmp(word, forms[i]) != 0) continue;
        request->form = (enum form)i;
        return 0;
    }
    PyErr_Format(PyExc_ValueError,
                 "format must be 'functions', 'top', 'regions', 'json', 'collapsed', 'speedscope' or 'html', not "
                 "'%.50s'",
                 word);
    return -1;
}

static int take_words(struct request *request, const char *sort, const char *unit)
{
    if (!lp__lines_sort_parse(sort, &request->options.sort)) {
        PyErr_Format(PyExc_ValueError, "sort_by must be 'time', 'line', 'self' or 'hits', not '%.50s'", sort);
        return -1;
    }
    if (!lp__lines_unit_parse(unit, &request->options.unit)) {
        PyErr_Format(PyExc_ValueError, "unit must be 'us', 'ns', 'ms' or 's', not '%.50s'", unit);
        return -1;
    }
    return 0;
}

/* A Recording, or a run directory; for this one an owned bytes object in *holder. */
static int take_source(struct request *request, struct lpx_state *state, PyObject *source, PyObject **holder)
{
    if (PyObject_TypeCheck(source, state->recording_type)) {
        request->recording = lpx_recording_get(source);
        return 0;
    }
    if (!PyUnicode_FSConverter(source, holder)) return -1;
    request->run_dir = PyBytes_AS_STRING(*holder);
    return 0;
}

/* Text with any characters as bytes that the caller releases; NULL for None. */
static int take_text(PyObject *text, PyObject **holder, const char **out)
{
    if (text == NULL || text == Py_None) return 0;
    *holder = PyUnicode_Check(text) ? PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass") : NULL;
    if (*holder == NULL) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "title and why are str or None");
        return -1;
    }
    *out = PyBytes_AS_STRING(*holder);
    return 0;
}

static int parse(struct request *request, struct lpx_state *state, PyObject *args, PyObject *kwargs,
                 PyObject *holders[4])
{
    static char *keywords[] = {"",     "",      "min_time_us", "top_n",   "sort_by", "unit",      "self", "raw",
                               "utf8", "title", "why",         "project", "attempt", "any_owner", NULL};
    const char *form, *sort = "time", *unit = "us";
    PyObject *source, *title = NULL, *why = NULL, *project = NULL;
    Py_ssize_t top = 0;
    int self = 0, raw = 0, utf8 = 1, any_owner = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Os|$dnsspppOOOzp:lines_render", keywords, &source, &form,
                                     &request->options.min_time_us, &top, &sort, &unit, &self, &raw, &utf8, &title,
                                     &why, &project, &request->load.attempt, &any_owner))
        return -1;
    if (top < 0) {
        PyErr_SetString(PyExc_ValueError, "top_n must not be negative");
        return -1;
    }
    request->options.top = top < UINT32_MAX ? (uint32_t)top : 0;
    request->options.self = self != 0;
    request->options.raw = raw != 0;
    request->options.utf8 = utf8 != 0;
    request->load.any_owner = any_owner != 0;
    if (take_form(request, form) || take_words(request, sort, unit)) return -1;
    if (take_text(title, &holders[1], &request->title) || take_text(why, &holders[2], &request->options.why)) return -1;
    if (project != NULL && project != Py_None) {
        if (!PyUnicode_FSConverter(project, &holders[3])) return -1;
        request->options.project = PyBytes_AS_STRING(holders[3]);
    }
    return take_source(request, state, source, &holders[0]);
}

static PyObject *finish(struct lpx_state *state, const struct request *request, int rc)
{
    if (rc) return lpx_raise(state, &request->err);
    return PyUnicode_DecodeUTF8(request->out.len ? request->out.data : "", (Py_ssize_t)request->out.len, "replace");
}

PyObject *lpx_lines_render(PyObject *module, PyObject *args, PyObject *kwargs)
{
    struct lpx_state *state = lpx_state_of(module);
    struct request request = {.form = FORM_FUNCTIONS};
    PyObject *holders[4] = {NULL, NULL, NULL, NULL}, *text = NULL;
    int rc;
    lp__buf_init(&request.out, OUTPUT_CEILING);
    if (parse(&request, state, args, kwargs, holders) == 0) {
        Py_BEGIN_ALLOW_THREADS rc = answer(&request);
        Py_END_ALLOW_THREADS text = finish(state, &request, rc);
    }
    lp__buf_release(&request.out);
    for (int i = 0; i < 4; i++)
        Py_XDECREF(holders[i]);
    return text;
}
