/* What crosses the border between Rust and picoquic, flat: no structure of picoquic's is laid out again in Rust.
 * Times are in microseconds of simulated time, sizes in bytes, rates in bytes per second. */

#ifndef SKYHOP_SHIM_H
#define SKYHOP_SHIM_H

#include <stddef.h>
#include <stdint.h>

typedef struct skyhop_endpoint skyhop_endpoint;

/* Zero leaves picoquic's own default. */
typedef struct {
    const char *control;
    uint64_t stream_window;
    uint64_t connection_window;
    /* Most of the congestion window. */
    uint64_t send_window;
    uint64_t streams;
    uint64_t idle_timeout_ms;
    /* What an earlier connection is said to have measured: both or none. */
    uint64_t seed_rtt;
    uint64_t seed_window;
    uint32_t udp_payload;
    int is_server;
    /* Whether it takes DATAGRAM frames. */
    int datagrams;
} skyhop_settings;

typedef struct {
    uint64_t cwnd;
    uint64_t in_flight;
    uint64_t smoothed_rtt;
    /* UINT64_MAX before the first measurement. */
    uint64_t min_rtt;
    uint64_t bandwidth;
    uint64_t pacing_rate;
    uint64_t sent_packets;
    uint64_t lost_packets;
    uint64_t spurious;
    /* 0: none yet, or the control has none to show. */
    uint64_t ssthresh;
    /* The codepoint that the control wants in the IP header. */
    uint8_t ecn;
    uint8_t is_connected;
} skyhop_measures;

/* Returned where an assertion of the C code failed: skyhop_words has its text, and the endpoint is dead. */
#define SKYHOP_DEAD (-1000)

/* What belongs to the process: once, before anything else. */
void skyhop_initialize(void);
/* `owner` goes back with each call of a function of Rust's below. NULL: `words` says why. */
skyhop_endpoint *skyhop_new(const skyhop_settings *settings, const uint8_t *certificate, size_t certificate_length,
                            const uint8_t *key, void *owner, char *words, size_t words_length);
void skyhop_free(skyhop_endpoint *endpoint);
int skyhop_connect(skyhop_endpoint *endpoint, uint64_t now, const char *server_name);
int skyhop_receive(skyhop_endpoint *endpoint, uint64_t now, uint8_t *bytes, size_t length, uint8_t ecn);
/* One batch of at most `capacity` bytes; `segment` is the length of each datagram but the last. 0 bytes: nothing. */
int skyhop_transmit(skyhop_endpoint *endpoint, uint64_t now, uint8_t *bytes, size_t capacity, size_t *length,
                    size_t *segment);
/* When picoquic wants to be called; UINT64_MAX: only a datagram wakes it. */
uint64_t skyhop_wake(skyhop_endpoint *endpoint);
int skyhop_open(skyhop_endpoint *endpoint, uint64_t *stream);
/* Data or an end wait for this stream. */
int skyhop_offer(skyhop_endpoint *endpoint, uint64_t now, uint64_t stream);
/* All that was written to the stream has been acknowledged, its end included. */
int skyhop_is_delivered(skyhop_endpoint *endpoint, uint64_t stream);
/* The application has read all: the stream's window moves on. `moved` is 1 if there is something to send for it. */
int skyhop_consumed(skyhop_endpoint *endpoint, uint64_t now, uint64_t stream, int *moved);
/* Queues a DATAGRAM frame. picoquic's queue has no limit. */
int skyhop_send_datagram(skyhop_endpoint *endpoint, uint64_t now, const uint8_t *bytes, size_t length);
int skyhop_close(skyhop_endpoint *endpoint, uint64_t now);
/* For tests of the jump: picoquic's next request for data of a stream fails an assertion below its own calls. */
void skyhop_fail(skyhop_endpoint *endpoint);
int skyhop_is_drained(const skyhop_endpoint *endpoint);
void skyhop_measure(skyhop_endpoint *endpoint, skyhop_measures *measures);
const char *skyhop_words(const skyhop_endpoint *endpoint);

/* In Rust. */
void skyhop_rs_random(uint8_t *bytes, size_t length);
void *skyhop_rs_key(const uint8_t *key, size_t length);
void skyhop_rs_key_free(void *key);
void skyhop_rs_seal(const void *key, const uint8_t *nonce, uint64_t number, const uint8_t *header,
                    size_t header_length, uint8_t *bytes, size_t length);
/* 1: opened. 0: the datagram is not authentic. */
int skyhop_rs_open(const void *key, const uint8_t *nonce, uint64_t number, const uint8_t *header,
                   size_t header_length, uint8_t *bytes, size_t length);
/* Five bytes that mask a header, from a sample of 16 bytes of the sealed packet. */
void *skyhop_rs_mask_key(const uint8_t *key, size_t length);
void skyhop_rs_mask_key_free(void *key);
void skyhop_rs_mask(const void *key, const uint8_t *sample, uint8_t *mask);
void skyhop_rs_data(void *owner, uint64_t stream, const uint8_t *bytes, size_t length, int is_end);
/* How many of at most `most` bytes there are, and whether the end of the stream follows, or more later. */
size_t skyhop_rs_offered(void *owner, uint64_t stream, size_t most, int *is_end, int *is_more);
void skyhop_rs_fill(void *owner, uint64_t stream, uint8_t *bytes, size_t length);
/* The data of a DATAGRAM frame. */
void skyhop_rs_datagram(void *owner, const uint8_t *bytes, size_t length);
void skyhop_rs_ready(void *owner);
void skyhop_rs_closed(void *owner, const char *words);
void skyhop_rs_rtt(void *owner, uint64_t rtt);
/* What a control was told: 0 a loss, 1 a loss by timer, 2 a mark, 3 a loss that was none. Windows in bytes. */
void skyhop_rs_congestion(void *owner, int kind, uint64_t number, uint64_t now, uint64_t before, uint64_t after);

#endif
