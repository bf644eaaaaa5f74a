/* A failed assertion of picoquic's or picotls' ends the connection and not the process. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"

_Thread_local jmp_buf *skyhop_landing;
_Thread_local char skyhop_assertion[256];

void skyhop_assertion_failed(const char *condition, const char *file, int line)
{
    const char *name = strrchr(file, '/');
    snprintf(skyhop_assertion, sizeof(skyhop_assertion), "assertion failed in %s:%d: %s",
             name == NULL ? file : name + 1, line, condition);
    if (skyhop_landing == NULL) {
        fprintf(stderr, "%s\n", skyhop_assertion);
        abort();
    }
    longjmp(*skyhop_landing, 1);
}
