/* Stands before the system's assert.h while picoquic and picotls are compiled. A failed assertion of theirs ends the
 * connection and not the process: it jumps back to the shim, which is the innermost caller (internal.h, GUARDED). */

#undef assert
#define assert(condition) ((condition) ? (void)0 : skyhop_assertion_failed(#condition, __FILE__, __LINE__))

#ifndef SKYHOP_ASSERT_H
#define SKYHOP_ASSERT_H
__attribute__((noreturn)) void skyhop_assertion_failed(const char *condition, const char *file, int line);
#endif
