/* What a command-line program asks of its terminal and its descriptors. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_CONSOLE_H
#define LP_OS_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

enum lp_console_fd { LP_STDIN = 0, LP_STDOUT = 1, LP_STDERR = 2 };

bool lp__console_is_terminal(int fd);
/* Columns and rows of the terminal behind `fd`; zeros when there is none or it does not say. */
void lp__console_size(int fd, unsigned *columns, unsigned *rows);

/* Writes all bytes; stops between two writes when `stop` (nullable) says so.  LP_OK, LP_ERR_INTERRUPTED, or LP_ERR_IO
 * with the errno (EPIPE: the reader has gone). */
LP_WARN_UNUSED int lp__console_write(int fd, const char *bytes, size_t len, bool (*stop)(void), int *sys_errno);

/* Single keys from the terminal on stdin, without echo.  False: stdin is no terminal, nothing was changed. */
bool lp__console_keys_begin(void);
void lp__console_keys_end(void);
/* Waits for a key: its byte, 0 after `seconds`, -1 when a signal came or (at once) when stdin has ended.  With `keys`
 * false only time and signals count. */
int lp__console_wait(bool keys, double seconds);

/* Appends to a regular file of ours, made 0600 when it is not there; links are refused.  Fails in silence. */
void lp__append(const char *path, const char *bytes, size_t len);

int lp__process_id(void);

#endif
