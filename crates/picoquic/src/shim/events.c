/* What picoquic calls back about: data, the handshake, the end of a connection. */

#include "internal.h"

static void close_words(picoquic_cnx_t *connection, picoquic_call_back_event_t event, char *words, size_t length)
{
    uint64_t own, peer, own_application, peer_application;
    const char *reason = NULL;
    picoquic_get_close_reasons(connection, &own, &peer, &own_application, &peer_application);
    if (event == picoquic_callback_stateless_reset) {
        snprintf(words, length, "Reset: the peer does not know the connection");
    } else if (event == picoquic_callback_application_close) {
        reason = connection->remote_error_reason;
        snprintf(words, length, "ApplicationClosed: error %llu%s%s", (unsigned long long)peer_application,
                 reason == NULL ? "" : ", ", reason == NULL ? "" : reason);
    } else if (own == PICOQUIC_ERROR_IDLE_TIMEOUT || own == PICOQUIC_ERROR_HANDSHAKE_TIMEOUT ||
               own == PICOQUIC_ERROR_REPEAT_TIMEOUT) {
        snprintf(words, length, "TimedOut: %s", picoquic_error_name(own));
    } else if (own != 0) {
        reason = connection->local_error_reason;
        snprintf(words, length, "%s (0x%llx)%s%s", picoquic_error_name(own), (unsigned long long)own,
                 reason == NULL ? "" : ", ", reason == NULL ? "" : reason);
    } else {
        reason = connection->remote_error_reason;
        snprintf(words, length, "ConnectionClosed by the peer: %s (0x%llx)%s%s", picoquic_error_name(peer),
                 (unsigned long long)peer, reason == NULL ? "" : ", ", reason == NULL ? "" : reason);
    }
}

int skyhop_on_event(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
                    picoquic_call_back_event_t event, void *context, void *stream_context)
{
    skyhop_endpoint *endpoint = context;
    char words[256];
    (void)stream_context;
    switch (event) {
    case picoquic_callback_stream_data:
    case picoquic_callback_stream_fin:
        if (endpoint->settings.stream_window != 0) {
            (void)picoquic_set_app_flow_control(connection, stream, 1);
        }
        skyhop_rs_data(endpoint->owner, stream, bytes, length, event == picoquic_callback_stream_fin);
        return 0;
    case picoquic_callback_prepare_to_send: {
        int is_end = 0;
        int is_more = 0;
        size_t size;
        assert(!endpoint->is_to_fail);
        size = skyhop_rs_offered(endpoint->owner, stream, length, &is_end, &is_more);
        uint8_t *place = picoquic_provide_stream_data_buffer(bytes, size, is_end, is_more);
        if (place == NULL) {
            return -1;
        }
        skyhop_rs_fill(endpoint->owner, stream, place, size);
        return 0;
    }
    case picoquic_callback_datagram:
        skyhop_rs_datagram(endpoint->owner, bytes, length);
        return 0;
    case picoquic_callback_almost_ready:
        /* A client has its keys and may send; it is ready only a round trip later, when the server has said so. */
        if (connection->client_mode) {
            skyhop_rs_ready(endpoint->owner);
        }
        return 0;
    case picoquic_callback_ready:
        skyhop_rs_ready(endpoint->owner);
        return 0;
    case picoquic_callback_stateless_reset:
    case picoquic_callback_close:
    case picoquic_callback_application_close:
        close_words(connection, event, words, sizeof(words));
        skyhop_rs_closed(endpoint->owner, words);
        return 0;
    case picoquic_callback_stream_reset:
    case picoquic_callback_stop_sending:
        snprintf(words, sizeof(words), "the peer gave up stream %llu", (unsigned long long)stream);
        skyhop_rs_closed(endpoint->owner, words);
        return 0;
    default:
        return 0;
    }
}
