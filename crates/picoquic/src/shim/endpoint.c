/* The border to picoquic: flat calls, each guarded against failed assertions. */

#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define ALPN "skyhop"

/* picoquic keeps its second generator (padding, spin bit, skipped numbers) for the whole process. The build makes it
 * thread-local, and each call starts it from the endpoint's own stream, so that no other endpoint moves it. */
static void seed(void)
{
    uint64_t draw;
    skyhop_rs_random((uint8_t *)&draw, sizeof(draw));
    picoquic_public_random_seed_64(draw, 1);
}

static void address(struct sockaddr_storage *place, uint8_t last)
{
    struct sockaddr_in *ipv4 = (struct sockaddr_in *)place;
    /* The first byte tells a token's address from a packet's header, whose second bit is set (skyhop_rs_seal). */
    const uint8_t bytes[4] = {10, 0, 0, last};
    memset(place, 0, sizeof(*place));
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = htons(4433);
    memcpy(&ipv4->sin_addr, bytes, sizeof(bytes));
}

/* What a connection gets as soon as it is there. */
static void prepare(skyhop_endpoint *endpoint)
{
    picoquic_cnx_t *connection = endpoint->connection;
    const skyhop_settings *settings = &endpoint->settings;
    connection->path[0]->send_mtu = settings->udp_payload;
    if (settings->seed_window != 0) {
        uint8_t *bytes;
        uint8_t length;
        picoquic_get_ip_addr((struct sockaddr *)&endpoint->peer, &bytes, &length);
        picoquic_seed_bandwidth(connection, settings->seed_rtt, settings->seed_window, bytes, length);
    }
}

static int set_up(skyhop_endpoint *endpoint, const uint8_t *certificate, size_t certificate_length, const uint8_t *key)
{
    const skyhop_settings *settings = &endpoint->settings;
    picoquic_quic_t *quic;
    picoquic_tp_t parameters;
    uint8_t reset_seed[PICOQUIC_RESET_SECRET_SIZE];
    uint8_t ticket_key[32];
    skyhop_rs_random(reset_seed, sizeof(reset_seed));
    skyhop_rs_random(ticket_key, sizeof(ticket_key));
    quic = picoquic_create(8, NULL, NULL, NULL, ALPN, skyhop_on_event, endpoint, NULL, NULL, reset_seed,
                           endpoint->now, &endpoint->now, NULL, ticket_key, sizeof(ticket_key));
    if (quic == NULL) {
        snprintf(endpoint->words, sizeof(endpoint->words), "picoquic_create fails");
        return -1;
    }
    endpoint->quic = quic;
    endpoint->control = skyhop_control(settings->control);
    if (endpoint->control == NULL) {
        snprintf(endpoint->words, sizeof(endpoint->words), "picoquic has no congestion control \"%s\"",
                 settings->control);
        return -1;
    }
    picoquic_set_default_congestion_algorithm(quic, endpoint->control);
    parameters = *picoquic_get_default_tp(quic);
    if (settings->stream_window != 0) {
        parameters.initial_max_stream_data_bidi_local = settings->stream_window;
        parameters.initial_max_stream_data_bidi_remote = settings->stream_window;
        parameters.initial_max_stream_data_uni = settings->stream_window;
    }
    if (settings->connection_window != 0) {
        parameters.initial_max_data = settings->connection_window;
    }
    if (settings->streams != 0) {
        parameters.initial_max_stream_id_bidir = settings->streams;
    }
    if (settings->idle_timeout_ms != 0) {
        parameters.max_idle_timeout = settings->idle_timeout_ms;
    }
    if (settings->datagrams) {
        parameters.max_datagram_frame_size = PICOQUIC_MAX_PACKET_SIZE;
    }
    parameters.max_packet_size = settings->udp_payload;
    if (picoquic_set_default_tp(quic, &parameters) != 0) {
        snprintf(endpoint->words, sizeof(endpoint->words), "picoquic refuses its transport parameters");
        return -1;
    }
    if (settings->connection_window != 0) {
        picoquic_set_max_data_control(quic, settings->connection_window);
    }
    if (settings->send_window != 0) {
        picoquic_set_cwin_max(quic, settings->send_window);
    }
    /* picoquic looks again for the largest datagram after it took losses for a smaller path, never beyond this. */
    quic->mtu_max = settings->udp_payload + 28;
    if (settings->is_server) {
        ptls_context_t *tls = quic->tls_master_ctx;
        ptls_minicrypto_secp256r1sha256_sign_certificate_t *signer = malloc(sizeof(*signer));
        ptls_iovec_t *chain = malloc(sizeof(*chain));
        uint8_t *copy = malloc(certificate_length);
        if (signer == NULL || chain == NULL || copy == NULL ||
            ptls_minicrypto_init_secp256r1sha256_sign_certificate(
                signer, ptls_iovec_init(key, SECP256R1_PRIVATE_KEY_SIZE)) != 0) {
            free(signer);
            free(chain);
            free(copy);
            snprintf(endpoint->words, sizeof(endpoint->words), "picotls refuses the key");
            return -1;
        }
        memcpy(copy, certificate, certificate_length);
        *chain = ptls_iovec_init(copy, certificate_length);
        picoquic_set_tls_certificate_chain(quic, chain, 1);
        tls->sign_certificate = &signer->super;
        picoquic_enforce_client_only(quic, 0);
    }
    return 0;
}

static int set_up_guarded(skyhop_endpoint *endpoint, const uint8_t *certificate, size_t certificate_length,
                          const uint8_t *key)
{
    int result = 0;
    GUARDED(endpoint, {
        seed();
        result = set_up(endpoint, certificate, certificate_length, key);
    });
    return result;
}

/* The caller sees to it that nobody else is in C meanwhile. */
void skyhop_initialize(void)
{
    static int is_done;
    if (is_done) {
        return;
    }
    is_done = 1;
    skyhop_register_ciphers();
    skyhop_register_controls();
}

skyhop_endpoint *skyhop_new(const skyhop_settings *settings, const uint8_t *certificate, size_t certificate_length,
                            const uint8_t *key, void *owner, char *words, size_t words_length)
{
    skyhop_endpoint *endpoint = calloc(1, sizeof(*endpoint));
    if (endpoint == NULL) {
        snprintf(words, words_length, "no memory for an endpoint");
        return NULL;
    }
    endpoint->settings = *settings;
    endpoint->owner = owner;
    address(&endpoint->own, settings->is_server ? 1 : 2);
    address(&endpoint->peer, settings->is_server ? 2 : 1);
    if (set_up_guarded(endpoint, certificate, certificate_length, key) != 0) {
        snprintf(words, words_length, "%s", endpoint->words);
        skyhop_free(endpoint);
        return NULL;
    }
    return endpoint;
}

static int free_guarded(skyhop_endpoint *endpoint)
{
    GUARDED(endpoint, {
        if (endpoint->quic != NULL) {
            picoquic_free(endpoint->quic);
        }
    });
    return 0;
}

void skyhop_free(skyhop_endpoint *endpoint)
{
    /* A dead endpoint's memory may be in any state: it is left alone. */
    (void)free_guarded(endpoint);
    free(endpoint);
}

int skyhop_connect(skyhop_endpoint *endpoint, uint64_t now, const char *server_name)
{
    int result = -1;
    endpoint->now = now;
    GUARDED(endpoint, {
        seed();
        endpoint->connection =
            picoquic_create_cnx(endpoint->quic, picoquic_null_connection_id, picoquic_null_connection_id,
                                (struct sockaddr *)&endpoint->peer, now, PICOQUIC_V1_VERSION, server_name, ALPN, 1);
        if (endpoint->connection != NULL) {
            picoquic_set_callback(endpoint->connection, skyhop_on_event, endpoint);
            prepare(endpoint);
            result = picoquic_start_client_cnx(endpoint->connection);
        }
    });
    if (result != 0) {
        snprintf(endpoint->words, sizeof(endpoint->words), "picoquic does not start a connection: %s",
                 picoquic_error_name((uint64_t)result));
    }
    return result;
}

int skyhop_receive(skyhop_endpoint *endpoint, uint64_t now, uint8_t *bytes, size_t length, uint8_t ecn)
{
    endpoint->now = now;
    GUARDED(endpoint, {
        picoquic_cnx_t *first = NULL;
        seed();
        (void)picoquic_incoming_packet_ex(endpoint->quic, bytes, length, (struct sockaddr *)&endpoint->peer,
                                          (struct sockaddr *)&endpoint->own, 0, ecn, &first, now);
        /* picoquic makes a server's connection by itself, and deletes it after a failed handshake. */
        first = picoquic_get_first_cnx(endpoint->quic);
        if (first != NULL && endpoint->connection == NULL) {
            endpoint->connection = first;
            prepare(endpoint);
        } else if (first == NULL && endpoint->connection != NULL) {
            endpoint->connection = NULL;
            endpoint->is_drained = 1;
        }
    });
    return 0;
}

int skyhop_transmit(skyhop_endpoint *endpoint, uint64_t now, uint8_t *bytes, size_t capacity, size_t *length,
                    size_t *segment)
{
    int result = 0;
    endpoint->now = now;
    *length = 0;
    *segment = 0;
    GUARDED(endpoint, {
        picoquic_stateless_packet_t *stateless = picoquic_dequeue_stateless_packet(endpoint->quic);
        if (stateless != NULL) {
            if (stateless->length <= capacity) {
                memcpy(bytes, stateless->bytes, stateless->length);
                *length = stateless->length;
                *segment = stateless->length;
            }
            picoquic_delete_stateless_packet(stateless);
        } else if (endpoint->connection != NULL && !endpoint->is_drained &&
                   endpoint->connection->next_wake_time <= now) {
            struct sockaddr_storage to;
            struct sockaddr_storage from;
            int interface_index = 0;
            size_t size = 0;
            seed();
            result = picoquic_prepare_packet_ex(endpoint->connection, now, bytes, capacity, length, &to, &from,
                                                &interface_index, &size);
            *segment = size == 0 ? *length : size;
            if (result == PICOQUIC_ERROR_DISCONNECTED) {
                endpoint->is_drained = 1;
                result = 0;
            }
        }
    });
    if (result != 0) {
        snprintf(endpoint->words, sizeof(endpoint->words), "picoquic cannot prepare a packet: %s (0x%x)",
                 picoquic_error_name((uint64_t)result), (unsigned)result);
    }
    return result;
}

uint64_t skyhop_wake(skyhop_endpoint *endpoint)
{
    if (endpoint->is_dead) {
        return UINT64_MAX;
    }
    if (endpoint->quic->pending_stateless_packet != NULL) {
        return endpoint->now;
    }
    if (endpoint->connection == NULL || endpoint->is_drained) {
        return UINT64_MAX;
    }
    return endpoint->connection->next_wake_time;
}

int skyhop_open(skyhop_endpoint *endpoint, uint64_t *stream)
{
    picoquic_cnx_t *connection = endpoint->connection;
    int result = -1;
    if (connection == NULL || endpoint->is_drained) {
        return -1;
    }
    GUARDED(endpoint, {
        *stream = picoquic_get_next_local_stream_id(connection, 0);
        /* picoquic itself would take data for it and keep them until the peer allows the stream. */
        if (STREAM_RANK_FROM_ID(*stream) <= connection->max_streams_bidir_remote) {
            result = picoquic_set_app_stream_ctx(connection, *stream, NULL);
            if (result == 0 && endpoint->settings.stream_window != 0) {
                result = picoquic_set_app_flow_control(connection, *stream, 1);
            }
        }
    });
    return result;
}

int skyhop_offer(skyhop_endpoint *endpoint, uint64_t now, uint64_t stream)
{
    int result = 0;
    endpoint->now = now;
    if (endpoint->connection == NULL || endpoint->is_drained) {
        return -1;
    }
    GUARDED(endpoint, { result = picoquic_mark_active_stream(endpoint->connection, stream, 1, NULL); });
    if (result != 0) {
        snprintf(endpoint->words, sizeof(endpoint->words), "picoquic takes no data for stream %llu: %s",
                 (unsigned long long)stream, picoquic_error_name((uint64_t)result));
    }
    return result;
}

int skyhop_is_delivered(skyhop_endpoint *endpoint, uint64_t stream)
{
    picoquic_stream_head_t *head;
    if (endpoint->is_dead || endpoint->connection == NULL) {
        return 0;
    }
    head = picoquic_find_stream(endpoint->connection, stream);
    /* A stream that is over in both directions is deleted. */
    return head == NULL || (head->fin_sent && picoquic_check_sack_list(&head->sack_list, 0, head->sent_offset) != 0);
}

int skyhop_consumed(skyhop_endpoint *endpoint, uint64_t now, uint64_t stream, int *moved)
{
    uint64_t window = endpoint->settings.stream_window;
    endpoint->now = now;
    *moved = 0;
    if (window == 0 || endpoint->connection == NULL || endpoint->is_drained) {
        return 0;
    }
    GUARDED(endpoint, {
        picoquic_stream_head_t *head = picoquic_find_stream(endpoint->connection, stream);
        /* An eighth at a time: each step is a frame. */
        if (head != NULL && !head->fin_received && head->consumed_offset + window > head->maxdata_local &&
            head->consumed_offset + window - head->maxdata_local >= window / 8 &&
            picoquic_open_flow_control(endpoint->connection, stream, window) == 0) {
            *moved = 1;
        }
    });
    return 0;
}

int skyhop_send_datagram(skyhop_endpoint *endpoint, uint64_t now, const uint8_t *bytes, size_t length)
{
    int result = 0;
    endpoint->now = now;
    if (endpoint->connection == NULL || endpoint->is_drained) {
        return -1;
    }
    GUARDED(endpoint, { result = picoquic_queue_datagram_frame(endpoint->connection, length, bytes); });
    if (result != 0) {
        snprintf(endpoint->words, sizeof(endpoint->words), "%s", picoquic_error_name((uint64_t)result));
    }
    return result;
}

int skyhop_close(skyhop_endpoint *endpoint, uint64_t now)
{
    endpoint->now = now;
    if (endpoint->connection == NULL || endpoint->is_drained) {
        return 0;
    }
    GUARDED(endpoint, { (void)picoquic_close_ex(endpoint->connection, 0, "done"); });
    return 0;
}

void skyhop_fail(skyhop_endpoint *endpoint)
{
    endpoint->is_to_fail = 1;
}

int skyhop_is_drained(const skyhop_endpoint *endpoint)
{
    return endpoint->is_dead || endpoint->is_drained;
}

void skyhop_measure(skyhop_endpoint *endpoint, skyhop_measures *measures)
{
    picoquic_cnx_t *connection = endpoint->connection;
    picoquic_path_t *path;
    memset(measures, 0, sizeof(*measures));
    measures->cwnd = PICOQUIC_CWIN_INITIAL;
    measures->smoothed_rtt = PICOQUIC_INITIAL_RTT;
    measures->min_rtt = UINT64_MAX;
    measures->ecn = endpoint->control == NULL ? 0 : endpoint->control->ecn_mark;
    if (endpoint->is_dead || connection == NULL || connection->nb_paths == 0) {
        return;
    }
    path = connection->path[0];
    measures->cwnd = path->cwin;
    measures->in_flight = path->bytes_in_transit;
    measures->smoothed_rtt = path->smoothed_rtt;
    measures->min_rtt = path->rtt_is_initialized ? path->rtt_min : UINT64_MAX;
    measures->bandwidth = path->bandwidth_estimate;
    measures->pacing_rate = path->pacing.rate;
    measures->sent_packets = connection->nb_packets_sent;
    measures->lost_packets = path->nb_losses_found;
    measures->spurious = path->nb_spurious;
    measures->is_connected = connection->cnx_state >= picoquic_state_client_ready_start;
    if (strcmp(endpoint->control->congestion_algorithm_id, "newreno") == 0 && path->congestion_alg_state != NULL) {
        uint64_t state;
        endpoint->control->alg_observe(path, &state, &measures->ssthresh);
    }
}

const char *skyhop_words(const skyhop_endpoint *endpoint)
{
    return endpoint->words;
}
