/*
 * Congestion controls for Skyhop as plug-ins: a shared library that a scenario names as
 *
 *     tcp = { recovery = "sack", control = { plugin = "libmycontrol.so" } }
 *
 * The library exports one function, skyhop_cc_plugin(), which returns a table of functions. The engine calls them for
 * every connection; the transport finds losses, measures times and keeps the timer. skyhop_cc.rs is the same in Rust,
 * and docs/howto/write-a-control-as-a-plug-in.md shows an example in both languages.
 *
 * Units: windows and amounts are real numbers of segments, times are nanoseconds of simulated time, rates bit/s.
 *
 * What the engine relies on, and cannot check:
 *   - The table and its functions stay valid until the process ends. The engine never unloads a library.
 *   - Controls share nothing that changes: the engine runs several simulations in threads of one process. One control
 *     is called by one thread at a time, which need not be the thread that created it.
 *   - A control is a function of what it is told. With the clock of the machine, or random numbers without a seed of
 *     their own, two runs of one scenario would differ.
 *   - No function throws an exception of C++ or unwinds a panic of Rust into the engine.
 *   - Pointers that the engine hands over are valid during the call alone, except for those in skyhop_cc_host, which
 *     are valid until destroy() returns.
 */
#ifndef SKYHOP_CC_H
#define SKYHOP_CC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. The engine refuses a library of another version. */
#define SKYHOP_CC_ABI 1u

/* A time that was not measured. */
#define SKYHOP_CC_NO_TIME INT64_C(-1)

#if defined(__GNUC__)
#define SKYHOP_CC_EXPORT __attribute__((visibility("default")))
#else
#define SKYHOP_CC_EXPORT
#endif

/*
 * What the control decides. The engine fills it in before every call and reads it afterwards, so that a function
 * changes what it wants to change.
 */
typedef struct skyhop_cc_window {
    double cwnd;       /* window: finite, not negative. The engine holds it between 1 and the receiver's window */
    double ssthresh;   /* slow-start threshold, infinite at first; records call the phase below it slow start */
    double pacing_bps; /* rate at which segments leave, at least 1; 0: the window alone decides */
} skyhop_cc_window;

/* What the engine offers to a control. Its functions may be called during a call of the control alone. */
typedef struct skyhop_cc_host {
    uint32_t size; /* bytes of this struct that the engine knows */
    uint32_t abi;
    void *context; /* first argument of the functions below */
    /* The number that the scenario gives to a parameter, or `otherwise`. For create() only: the engine refuses a
     * scenario with a parameter that create() did not ask for. */
    double (*parameter)(void *context, const char *name, double otherwise);
    /* Adds a message, a UTF-8 text that ends with 0, to the warnings of the run. */
    void (*log)(void *context, const char *message);
    /* Says why the control fails. The run ends after the present call, whatever that returns. */
    void (*fail)(void *context, const char *message);
} skyhop_cc_host;

/* How a connection starts. */
typedef struct skyhop_cc_start {
    uint32_t size;
    uint32_t mss; /* user bytes per segment */
    double clamp; /* the receiver's window; infinite without one */
} skyhop_cc_start;

/* An ACK. */
typedef struct skyhop_cc_ack {
    uint32_t size;
    uint32_t mss;
    int64_t now_ns;
    double newly_acked;       /* acknowledged cumulatively for the first time */
    double newly_reported;    /* reported selectively for the first time, beyond these */
    double slow_start_growth; /* by how much the window may grow in slow start */
    double avoidance_growth;  /* for how many segments it may grow in congestion avoidance */
    int64_t rtt_ns;           /* measured by this ACK; SKYHOP_CC_NO_TIME if it measures none */
    int64_t smoothed_rtt_ns;
    int64_t min_rtt_ns;
    double in_flight;      /* after this ACK, before anything is sent in response */
    uint64_t acknowledged; /* segments acknowledged cumulatively since the start */
    uint64_t delivered;    /* segments delivered since the start, selectively reported ones included */
    double marked;         /* segments of this ACK that carried an ECN mark */
    uint32_t round_ends;   /* 1 if a round trip, counted in packets, ends */
    uint32_t repairing;    /* 1 while what a timeout found lost is still being repaired */
} skyhop_cc_ack;

/* Segments found lost. */
typedef struct skyhop_cc_loss {
    uint32_t size;
    uint32_t mss;
    int64_t now_ns;
    double lost;
    double in_flight;
} skyhop_cc_loss;

/* Why a recovery episode begins. */
#define SKYHOP_CC_LOSS 1u
#define SKYHOP_CC_ECN 2u
#define SKYHOP_CC_TIMEOUT 3u

/* The start of a recovery episode. */
typedef struct skyhop_cc_congestion {
    uint32_t size;
    uint32_t mss;
    int64_t now_ns;
    uint32_t kind;  /* SKYHOP_CC_LOSS, SKYHOP_CC_ECN or SKYHOP_CC_TIMEOUT */
    uint32_t again; /* 1 if the lost segment was a retransmission */
    double window;  /* the amount that the cut is taken from */
    double in_flight;
    int64_t smoothed_rtt_ns;
    int64_t min_rtt_ns;
} skyhop_cc_congestion;

/* A segment that leaves. */
typedef struct skyhop_cc_sent {
    uint32_t size;
    uint32_t mss;
    int64_t now_ns;
    double in_flight; /* this segment included */
} skyhop_cc_sent;

/*
 * The control: what skyhop_cc_plugin() returns. Functions return 0, or any other number for a failure, which ends the
 * run. `control` is what create() stored. Those marked as optional may be NULL; the engine then calls nothing.
 */
typedef struct skyhop_cc_table {
    uint32_t abi;  /* SKYHOP_CC_ABI; every version of the table begins with these two */
    uint32_t size; /* sizeof(skyhop_cc_table) */
    /* A connection starts with this window. Stores the control; its value is the plug-in's own affair. */
    int (*create)(const skyhop_cc_host *host, const skyhop_cc_start *start, skyhop_cc_window *window, void **control);
    /* Optional. The connection is gone, also after a failure, but not after a failure of create(). */
    void (*destroy)(void *control);
    /* An ACK of new data outside of recovery: the window may grow. */
    int (*on_ack)(void *control, const skyhop_cc_ack *ack, skyhop_cc_window *window);
    /* A recovery episode begins, by a loss, a mark or a timeout: the window is cut. */
    int (*on_congestion)(void *control, const skyhop_cc_congestion *event, skyhop_cc_window *window);
    /* Optional. An ACK that may not grow the window: a duplicate with news, or any during recovery. */
    int (*on_measured)(void *control, const skyhop_cc_ack *ack, skyhop_cc_window *window);
    /* Optional. Segments are found lost; several calls may fall into one episode. */
    int (*on_lost)(void *control, const skyhop_cc_loss *loss, skyhop_cc_window *window);
    /* Optional. A recovery episode ends. */
    int (*on_recovered)(void *control, int64_t now_ns, skyhop_cc_window *window);
    /* Optional. A segment leaves. */
    int (*on_sent)(void *control, const skyhop_cc_sent *sent, skyhop_cc_window *window);
    /* Optional. The path changes to another satellite or route, where the scenario tells the sender. */
    int (*on_handover)(void *control, int64_t now_ns, skyhop_cc_window *window);
    /* Optional. The transport has set window->cwnd: the initial window, after idle time, at the end of a recovery. */
    int (*on_cwnd_set)(void *control, skyhop_cc_window *window);
} skyhop_cc_table;

/* The one function that a plug-in exports. */
SKYHOP_CC_EXPORT const skyhop_cc_table *skyhop_cc_plugin(void);

#ifdef __cplusplus
}
#endif

#endif
