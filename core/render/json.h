/* Pieces shared by the JSON documents.  Inside render only. */
// SPDX-License-Identifier: MIT
#ifndef LP_RENDER_JSON_H
#define LP_RENDER_JSON_H

#include "base/json.h"
#include "render/render.h"

/* "key": value.  NaN, and negative numbers where they mean "unknown", are null. */
void lp__put_text(struct lp_json *json, const char *key, const char *text);
void lp__put_text_or_null(struct lp_json *json, const char *key, const char *text); /* "" is null */
void lp__put_u64(struct lp_json *json, const char *key, uint64_t value);
void lp__put_known(struct lp_json *json, const char *key, int64_t value); /* negative: null */
void lp__put_double(struct lp_json *json, const char *key, double value, int digits);
void lp__put_ns(struct lp_json *json, const char *key, double ns);      /* a whole number */
void lp__put_seconds(struct lp_json *json, const char *key, double ns); /* to the microsecond */
void lp__put_bool(struct lp_json *json, const char *key, bool value);
void lp__put_open(struct lp_json *json, const char *key, char bracket);
/* A key that is a name and may hold any bytes. */
void lp__put_name_key(struct lp_json *json, struct lp_text name);

/* Blocks of the report's document. */
void lp__json_header(struct lp_json *json, const struct lp_report *report);
void lp__json_roles(struct lp_json *json, const struct lp_report *report);
void lp__json_phases(struct lp_json *json, const struct lp_report_tree *tree); /* an array, in the report's order */
void lp__json_workers(struct lp_json *json, const struct lp_report *report);
void lp__json_caveats(struct lp_json *json, const struct lp_report *report);

/* Facts of a process that both documents show, as members of the open object. */
void lp__json_process(struct lp_json *json, const struct lp_run_process *process);
void lp__json_attempts(struct lp_json *json, const struct lp_run *run);         /* "attempts": [...] */
void lp__json_drops(struct lp_json *json, const uint64_t drops[LP_DROP_COUNT]); /* "drops": {...} */

#endif
