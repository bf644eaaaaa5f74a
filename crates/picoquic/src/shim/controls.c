/* picoquic's congestion controls, each with an ear before it. */

#include <string.h>

#include "internal.h"

typedef struct {
    picoquic_congestion_algorithm_t outer;
    const picoquic_congestion_algorithm_t *inner;
} heard_control;

#define CONTROLS_MAX 16
static heard_control controls[CONTROLS_MAX];
static size_t control_count;

static skyhop_endpoint *endpoint_of(picoquic_cnx_t *connection)
{
    return connection->quic->default_callback_ctx;
}

static void heard_notify(picoquic_cnx_t *connection, picoquic_path_t *path,
                         picoquic_congestion_notification_t notification, picoquic_per_ack_state_t *state,
                         uint64_t now)
{
    const heard_control *control = (const heard_control *)connection->congestion_alg;
    void *owner = endpoint_of(connection)->owner;
    uint64_t before = path->cwin;
    uint64_t number = 0;
    int kind = -1;
    control->inner->alg_notify(connection, path, notification, state, now);
    switch (notification) {
    case picoquic_congestion_notification_rtt_measurement:
        skyhop_rs_rtt(owner, state->rtt_measurement);
        break;
    case picoquic_congestion_notification_repeat:
        kind = 0;
        break;
    case picoquic_congestion_notification_timeout:
        kind = 1;
        break;
    case picoquic_congestion_notification_ecn_ec:
        kind = 2;
        break;
    case picoquic_congestion_notification_spurious_repeat:
        kind = 3;
        break;
    default:
        break;
    }
    if (kind >= 0) {
        if (state != NULL) {
            number = state->lost_packet_number;
        }
        skyhop_rs_congestion(owner, kind, number, now, before, path->cwin);
    }
}

void skyhop_register_controls(void)
{
    picoquic_register_all_congestion_control_algorithms();
    for (size_t i = 0; i < picoquic_nb_congestion_control_algorithms && control_count < CONTROLS_MAX; i++) {
        heard_control *control = &controls[control_count++];
        control->inner = picoquic_congestion_control_algorithms[i];
        control->outer = *control->inner;
        control->outer.alg_notify = heard_notify;
    }
}

const picoquic_congestion_algorithm_t *skyhop_control(const char *name)
{
    for (size_t i = 0; i < control_count; i++) {
        if (strcmp(controls[i].outer.congestion_algorithm_id, name) == 0) {
            return &controls[i].outer;
        }
    }
    return NULL;
}
