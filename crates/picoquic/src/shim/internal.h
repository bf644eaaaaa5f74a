/* What the files of the shim share. */

#ifndef SKYHOP_SHIM_INTERNAL_H
#define SKYHOP_SHIM_INTERNAL_H

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>

/* The order matters: picoquic's headers use what picotls' declare. */
#include "picotls.h"
#include "picotls/minicrypto.h"
#include "picoquic.h"
#include "picoquic_internal.h"
#include "picoquic_crypto_provider_api.h"
#include "tls_api.h"

#include "shim.h"

struct skyhop_endpoint {
    picoquic_quic_t *quic;
    picoquic_cnx_t *connection;
    /* picoquic reads it as its clock, TLS as its time of day. */
    uint64_t now;
    skyhop_settings settings;
    const picoquic_congestion_algorithm_t *control;
    struct sockaddr_storage own;
    struct sockaddr_storage peer;
    void *owner;
    int is_dead;
    int is_drained;
    /* Of a test: skyhop_fail. */
    int is_to_fail;
    char words[256];
};

/* Where a failed assertion jumps to, and its text (assertions.c). */
extern _Thread_local jmp_buf *skyhop_landing;
extern _Thread_local char skyhop_assertion[256];

/* Runs `call` so that a failed assertion of picoquic's or picotls' leads back here. What they held then is lost; the
 * endpoint is never called again. Only their frames and the shim's lie between: no callback of Rust asserts. */
#define GUARDED(endpoint, call)                                                                                        \
    do {                                                                                                               \
        jmp_buf here;                                                                                                  \
        if ((endpoint)->is_dead) {                                                                                     \
            return SKYHOP_DEAD;                                                                                        \
        }                                                                                                              \
        if (setjmp(here) != 0) {                                                                                       \
            skyhop_landing = NULL;                                                                                     \
            (endpoint)->is_dead = 1;                                                                                   \
            snprintf((endpoint)->words, sizeof((endpoint)->words), "%s", skyhop_assertion);                            \
            return SKYHOP_DEAD;                                                                                        \
        }                                                                                                              \
        skyhop_landing = &here;                                                                                        \
        call;                                                                                                          \
        skyhop_landing = NULL;                                                                                         \
    } while (0)

/* Random numbers and ciphers of the process, once (ciphers.c). */
void skyhop_register_ciphers(void);
/* Congestion controls with an ear, once (controls.c), and the one of this name, or NULL. */
void skyhop_register_controls(void);
const picoquic_congestion_algorithm_t *skyhop_control(const char *name);
/* picoquic's callback; `context` is the endpoint (events.c). */
int skyhop_on_event(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
                    picoquic_call_back_event_t event, void *context, void *stream_context);

#endif
