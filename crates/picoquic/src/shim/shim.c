/* The border to picoquic: flat calls, the simulation's random numbers and ciphers, and assertions that end a
 * connection instead of the process. */

#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The order matters: picoquic's headers use what picotls' declare. */
#include "picotls.h"
#include "picotls/minicrypto.h"
#include "picoquic.h"
#include "picoquic_internal.h"
#include "picoquic_crypto_provider_api.h"
#include "tls_api.h"
#include "uECC.h"

#include "shim.h"

#define KEY_LENGTH 32
#define TAG_LENGTH 16
#define ALPN "skyhop"

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
    char words[256];
};

/* ---- Assertions ---------------------------------------------------------------------------------------------- */

static _Thread_local jmp_buf *landing;
static _Thread_local char assertion[256];

void skyhop_assertion_failed(const char *condition, const char *file, int line)
{
    const char *name = strrchr(file, '/');
    snprintf(assertion, sizeof(assertion), "assertion failed in %s:%d: %s", name == NULL ? file : name + 1, line,
             condition);
    if (landing == NULL) {
        fprintf(stderr, "%s\n", assertion);
        abort();
    }
    longjmp(*landing, 1);
}

/* Runs `call` so that a failed assertion of picoquic's or picotls' leads back here. What they held then is lost; the
 * endpoint is never called again. Only their frames and this file's lie between: no callback of Rust asserts. */
#define GUARDED(endpoint, call)                                                                                        \
    do {                                                                                                               \
        jmp_buf here;                                                                                                  \
        if ((endpoint)->is_dead) {                                                                                     \
            return SKYHOP_DEAD;                                                                                        \
        }                                                                                                              \
        if (setjmp(here) != 0) {                                                                                       \
            landing = NULL;                                                                                            \
            (endpoint)->is_dead = 1;                                                                                   \
            snprintf((endpoint)->words, sizeof((endpoint)->words), "%s", assertion);                                   \
            return SKYHOP_DEAD;                                                                                        \
        }                                                                                                              \
        landing = &here;                                                                                               \
        call;                                                                                                          \
        landing = NULL;                                                                                                \
    } while (0)

/* ---- Random numbers ------------------------------------------------------------------------------------------ */

/* In the place of picotls' lib/cifra/random.c, which is left out: keys, connection ids, nonces. */
void ptls_minicrypto_random_bytes(void *bytes, size_t length)
{
    skyhop_rs_random(bytes, length);
}

static int random_for_ecc(uint8_t *bytes, unsigned length)
{
    skyhop_rs_random(bytes, length);
    return 1;
}

/* picoquic keeps its second generator (padding, spin bit, skipped numbers) for the whole process. The build makes it
 * thread-local, and each call starts it from the endpoint's own stream, so that no other endpoint moves it. */
static void seed(void)
{
    uint64_t draw;
    skyhop_rs_random((uint8_t *)&draw, sizeof(draw));
    picoquic_public_random_seed_64(draw, 1);
}

/* ---- Ciphers: AES-GCM in Rust, where packets are seen before they are sealed ------------------------------------ */

typedef struct {
    ptls_aead_context_t super;
    void *key;
    uint8_t iv[PTLS_AESGCM_IV_SIZE];
} aead;

static void aead_dispose(ptls_aead_context_t *context)
{
    skyhop_rs_key_free(((aead *)context)->key);
}

static void aead_get_iv(ptls_aead_context_t *context, void *iv)
{
    memcpy(iv, ((aead *)context)->iv, PTLS_AESGCM_IV_SIZE);
}

static void aead_set_iv(ptls_aead_context_t *context, const void *iv)
{
    memcpy(((aead *)context)->iv, iv, PTLS_AESGCM_IV_SIZE);
}

static void aead_encrypt(ptls_aead_context_t *context, void *output, const void *input, size_t length, uint64_t number,
                         const void *header, size_t header_length, ptls_aead_supplementary_encryption_t *supplement)
{
    aead *self = (aead *)context;
    uint8_t nonce[PTLS_AESGCM_IV_SIZE];
    ptls_aead__build_iv(self->super.algo, nonce, self->iv, number);
    if (output != input) {
        memmove(output, input, length);
    }
    skyhop_rs_seal(self->key, nonce, number, header, header_length, output, length);
    if (supplement != NULL) {
        ptls_cipher_init(supplement->ctx, supplement->input);
        memset(supplement->output, 0, sizeof(supplement->output));
        ptls_cipher_encrypt(supplement->ctx, supplement->output, supplement->output, sizeof(supplement->output));
    }
}

static void aead_encrypt_v(ptls_aead_context_t *context, void *output, ptls_iovec_t *input, size_t count,
                           uint64_t number, const void *header, size_t header_length)
{
    uint8_t *end = output;
    for (size_t i = 0; i < count; i++) {
        memmove(end, input[i].base, input[i].len);
        end += input[i].len;
    }
    aead_encrypt(context, output, output, (size_t)(end - (uint8_t *)output), number, header, header_length, NULL);
}

static size_t aead_decrypt(ptls_aead_context_t *context, void *output, const void *input, size_t length,
                           uint64_t number, const void *header, size_t header_length)
{
    aead *self = (aead *)context;
    uint8_t nonce[PTLS_AESGCM_IV_SIZE];
    uint8_t stack[PICOQUIC_MAX_PACKET_SIZE];
    uint8_t *work = stack;
    int opened;
    if (length < TAG_LENGTH) {
        return SIZE_MAX;
    }
    ptls_aead__build_iv(self->super.algo, nonce, self->iv, number);
    /* Not in the output, which need not have room for the tag. */
    if (length > sizeof(stack) && (work = malloc(length)) == NULL) {
        return SIZE_MAX;
    }
    memcpy(work, input, length);
    opened = skyhop_rs_open(self->key, nonce, number, header, header_length, work, length);
    if (opened) {
        memcpy(output, work, length - TAG_LENGTH);
    }
    if (work != stack) {
        free(work);
    }
    return opened ? length - TAG_LENGTH : SIZE_MAX;
}

static int aead_setup(ptls_aead_context_t *context, int is_encryption, const void *key, const void *iv)
{
    aead *self = (aead *)context;
    (void)is_encryption;
    self->super.dispose_crypto = aead_dispose;
    self->super.do_get_iv = aead_get_iv;
    self->super.do_set_iv = aead_set_iv;
    self->super.do_encrypt_init = NULL;
    self->super.do_encrypt_update = NULL;
    self->super.do_encrypt_final = NULL;
    self->super.do_encrypt = aead_encrypt;
    self->super.do_encrypt_v = aead_encrypt_v;
    self->super.do_decrypt = aead_decrypt;
    memcpy(self->iv, iv, PTLS_AESGCM_IV_SIZE);
    self->key = skyhop_rs_key(key, self->super.algo->key_size);
    return self->key == NULL ? PTLS_ERROR_LIBRARY : 0;
}

static ptls_aead_algorithm_t aes128gcm = {
    .name = "AES128-GCM",
    .confidentiality_limit = PTLS_AESGCM_CONFIDENTIALITY_LIMIT,
    .integrity_limit = PTLS_AESGCM_INTEGRITY_LIMIT,
    .ctr_cipher = &ptls_minicrypto_aes128ctr,
    .ecb_cipher = &ptls_minicrypto_aes128ecb,
    .key_size = PTLS_AES128_KEY_SIZE,
    .iv_size = PTLS_AESGCM_IV_SIZE,
    .tag_size = PTLS_AESGCM_TAG_SIZE,
    .context_size = sizeof(aead),
    .setup_crypto = aead_setup,
};

static ptls_aead_algorithm_t aes256gcm = {
    .name = "AES256-GCM",
    .confidentiality_limit = PTLS_AESGCM_CONFIDENTIALITY_LIMIT,
    .integrity_limit = PTLS_AESGCM_INTEGRITY_LIMIT,
    .ctr_cipher = &ptls_minicrypto_aes256ctr,
    .ecb_cipher = &ptls_minicrypto_aes256ecb,
    .key_size = PTLS_AES256_KEY_SIZE,
    .iv_size = PTLS_AESGCM_IV_SIZE,
    .tag_size = PTLS_AESGCM_TAG_SIZE,
    .context_size = sizeof(aead),
    .setup_crypto = aead_setup,
};

static ptls_cipher_suite_t aes128gcmsha256 = {.id = PTLS_CIPHER_SUITE_AES_128_GCM_SHA256,
                                              .name = PTLS_CIPHER_SUITE_NAME_AES_128_GCM_SHA256,
                                              .aead = &aes128gcm,
                                              .hash = &ptls_minicrypto_sha256};

static ptls_cipher_suite_t aes256gcmsha384 = {.id = PTLS_CIPHER_SUITE_AES_256_GCM_SHA384,
                                              .name = PTLS_CIPHER_SUITE_NAME_AES_256_GCM_SHA384,
                                              .aead = &aes256gcm,
                                              .hash = &ptls_minicrypto_sha384};

/* ---- Congestion controls with an ear --------------------------------------------------------------------------- */

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

/* What belongs to the process. The caller sees to it that nobody else is in this file meanwhile. */
static void initialize(void)
{
    static int is_done;
    if (is_done) {
        return;
    }
    is_done = 1;
    uECC_set_rng(random_for_ecc);
    picoquic_tls_api_init();
    picoquic_register_ciphersuite(&aes128gcmsha256, 1);
    picoquic_register_ciphersuite(&aes256gcmsha384, 1);
    picoquic_register_all_congestion_control_algorithms();
    for (size_t i = 0; i < picoquic_nb_congestion_control_algorithms && control_count < CONTROLS_MAX; i++) {
        heard_control *control = &controls[control_count++];
        control->inner = picoquic_congestion_control_algorithms[i];
        control->outer = *control->inner;
        control->outer.alg_notify = heard_notify;
    }
}

/* ---- Events ---------------------------------------------------------------------------------------------------- */

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

static int on_event(picoquic_cnx_t *connection, uint64_t stream, uint8_t *bytes, size_t length,
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
        size_t size = skyhop_rs_offered(endpoint->owner, stream, length, &is_end, &is_more);
        uint8_t *place = picoquic_provide_stream_data_buffer(bytes, size, is_end, is_more);
        if (place == NULL) {
            return -1;
        }
        skyhop_rs_fill(endpoint->owner, stream, place, size);
        return 0;
    }
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

/* ---- The endpoint ---------------------------------------------------------------------------------------------- */

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
    quic = picoquic_create(8, NULL, NULL, NULL, ALPN, on_event, endpoint, NULL, NULL, reset_seed, endpoint->now,
                           &endpoint->now, NULL, ticket_key, sizeof(ticket_key));
    if (quic == NULL) {
        snprintf(endpoint->words, sizeof(endpoint->words), "picoquic_create fails");
        return -1;
    }
    endpoint->quic = quic;
    for (size_t i = 0; i < control_count; i++) {
        if (strcmp(controls[i].outer.congestion_algorithm_id, settings->control) == 0) {
            endpoint->control = &controls[i].outer;
        }
    }
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

void skyhop_initialize(void)
{
    initialize();
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
            picoquic_set_callback(endpoint->connection, on_event, endpoint);
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

int skyhop_close(skyhop_endpoint *endpoint, uint64_t now)
{
    endpoint->now = now;
    if (endpoint->connection == NULL || endpoint->is_drained) {
        return 0;
    }
    GUARDED(endpoint, { (void)picoquic_close_ex(endpoint->connection, 0, "done"); });
    return 0;
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
