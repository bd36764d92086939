/* lines_page LINES ROUNDS: what a page of so many source lines costs.  Each round renders the whole page; at the end
 * its bytes, and those of the same page with the source alone, so that the difference is what the figures add. */
// SPDX-License-Identifier: MIT
#include "bench.h"

#include "render/html.h"
#include "support/line_scenes.h"

static size_t render(const struct lp_line_report *report)
{
    struct lp_buf out;
    lp__buf_init(&out, (size_t)1 << 30);
    lp__render_lines_html(report, NULL, &out);
    size_t len = out.failed ? 0 : out.len;
    lp__buf_release(&out);
    return len;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    struct line_scene *scene = malloc(sizeof *scene);
    if (!scene) return 1;
    line_scene_large(scene, (uint32_t)strtoul(argv[1], NULL, 10));
    size_t bytes = 0;
    for (int round = 0; round < atoi(argv[2]); round++) {
        struct stopwatch start = watch_start();
        bytes = render(&scene->report);
        print_round("page", round, watch_since(start), 1);
    }
    size_t source = scene->report.files[0].text_len;
    scene->report.function_count = scene->report.hot_count = scene->report.files[0].function_count = 0;
    printf("bytes %zu %zu %zu\n", bytes, render(&scene->report), source);
    line_scene_release(scene);
    free(scene);
    return bytes ? 0 : 1;
}
