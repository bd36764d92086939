/* write_page SCENE [LINES]: a page of a made-up line report on stdout, for the tests in tests/web and for bench/.  With
 * "facts" for SCENE's second argument, the report's numbers as JSON instead, written by hand and not by a renderer. */
// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "render/html.h"
#include "support/line_scenes.h"

static void print_facts(const struct lp_line_report *report)
{
    printf("{\"profiled\": %.0f, \"events\": %llu, \"rows\": [", report->profiled_ns,
           (unsigned long long)report->events);
    for (size_t i = 0; i < report->hot_count; i++) {
        const struct lp_line_function *function = &report->functions[report->hot[i].function];
        const struct lp_line_row *row = &function->rows[report->hot[i].row];
        printf("%s{\"function\": %u, \"file\": %u, \"line\": %u, \"hits\": %llu, \"events\": %llu, \"self\": %.0f, "
               "\"inclusive\": %.0f, \"corrected_self\": %.0f, \"corrected_inclusive\": %.0f, \"suspended\": %.0f, "
               "\"mark\": %d}",
               i ? ", " : "", report->hot[i].function, function->file, row->line, (unsigned long long)row->hits,
               (unsigned long long)row->events, row->self_ns, row->inclusive_ns, row->corrected_self_ns,
               row->corrected_inclusive_ns, row->suspended_ns, (int)row->mark);
    }
    printf("], \"functions\": [");
    for (size_t i = 0; i < report->function_count; i++) {
        const struct lp_line_function *function = &report->functions[i];
        printf("%s{\"calls\": %llu, \"self\": %.0f, \"total\": %.0f}", i ? ", " : "",
               (unsigned long long)function->calls, function->corrected_self_ns, function->corrected_total_ns);
    }
    printf("], \"regions\": [");
    for (size_t i = 0; i < report->region_count; i++)
        printf("%s{\"entries\": %llu, \"wall\": %.0f, \"self\": %.0f}", i ? ", " : "",
               (unsigned long long)report->regions[i].entries, report->regions[i].wall_ns,
               report->regions[i].corrected_self_ns);
    printf("]}\n");
}

static size_t source_bytes(const struct lp_line_report *report)
{
    size_t bytes = 0;
    for (size_t i = 0; i < report->file_count; i++)
        bytes += report->files[i].text_len;
    return bytes;
}

/* CPU seconds of one rendering, bytes of the page, bytes of source in it. */
static int print_cost(const struct lp_line_report *report, struct lp_buf *out)
{
    clock_t start = clock();
    lp__render_lines_html(report, NULL, out);
    printf("%.6f %zu %zu\n", (double)(clock() - start) / CLOCKS_PER_SEC, out->len, source_bytes(report));
    return out->failed ? 1 : 0;
}

static bool make_scene(struct line_scene *s, const char *name, const char *argument)
{
    if (!strcmp(name, "usual"))
        line_scene_usual(s);
    else if (!strcmp(name, "hostile"))
        line_scene_hostile(s);
    else if (!strcmp(name, "empty"))
        line_scene_empty(s);
    else if (!strcmp(name, "large"))
        line_scene_large(s, (uint32_t)strtoul(argument, NULL, 10));
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    struct line_scene *scene = malloc(sizeof *scene);
    struct lp_buf out;
    int status = 0;
    if (argc < 2 || !scene || !make_scene(scene, argv[1], argc > 2 ? argv[2] : "20000")) return 2;
    lp__buf_init(&out, (size_t)1 << 30);
    if (!strcmp(argv[argc - 1], "facts"))
        print_facts(&scene->report);
    else if (!strcmp(argv[argc - 1], "cost"))
        status = print_cost(&scene->report, &out);
    else {
        lp__render_lines_html(&scene->report, NULL, &out);
        status = out.failed || fwrite(out.data, 1, out.len, stdout) != out.len;
    }
    lp__buf_release(&out);
    line_scene_release(scene);
    free(scene);
    return status;
}
