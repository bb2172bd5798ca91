/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Included by the compiler in front of every file (meson: -include).  These functions overflow,
 * are not thread-safe, hide errors or run a shell behind our back.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok atoi atol atof
#undef alloca
#pragma GCC poison alloca gmtime localtime ctime asctime system popen mktemp tmpnam strerror

#endif
