/* The network behind the calls that simulators of training need (ASTRA-sim's network interface): send, receive, schedule,
 * time. Messages are posted during the simulation, and packets are simulated one by one. ASTRA-sim itself
 * has a ready adapter, anabranch_network.cc.
 *
 *     #include "anabranch.h"
 *     #include <inttypes.h>
 *     #include <stdio.h>
 *
 *     static anabranch *network;
 *
 *     static void arrived(void *message) {
 *         printf("%s after %" PRIu64 " ps\n", (char *)message, anabranch_time_ps(network));
 *     }
 *
 *     int main(void) {
 *         char why[1024];
 *         network = anabranch_new("schemes = [\"reps\"]\n"
 *                                 "topology = { kind = \"fat-tree\", hosts = 16, link = \"400Gbps\" }\n",
 *                                 why, sizeof why);
 *         if (network == NULL) {
 *             fprintf(stderr, "%s\n", why);
 *             return 1;
 *         }
 *         if (anabranch_send(network, 0, 9, 1000000, 0, NULL, NULL) != 0 ||
 *             anabranch_receive(network, 0, 9, 1000000, 0, arrived, "1 MB") != 0 || anabranch_run(network) != 0) {
 *             fprintf(stderr, "%s\n", anabranch_error(network));
 *             return 1;
 *         }
 *         double dropped;
 *         if (anabranch_counter(network, "drops", &dropped) == 0) {
 *             printf("%.0f packets dropped\n", dropped);
 *         }
 *         anabranch_free(network);
 *         return 0;
 *     }
 *
 * Only one thread may use a simulation at a time. It has no thread of its own: your functions are called, and everything is
 * simulated, in the thread that is in anabranch_run. Functions that return an int return 0, or -1 on an error, which
 * anabranch_error describes with a hint. An exception or longjmp must not leave your functions.
 *
 * Everything is simulated once. The limits of the scenario hold: the simulated time ends at limits.max_time (1 s unless it
 * says otherwise), and a run without a newly delivered byte for limits.stall fails. About 400 B are kept for each message until
 * anabranch_free, and a queue pair carries at most 2^32 packets. */
#ifndef ANABRANCH_H
#define ANABRANCH_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; anabranch_version has that of the library. */
#define ANABRANCH_VERSION "0.1.0"
#define ANABRANCH_VERSION_MAJOR 0
#define ANABRANCH_VERSION_MINOR 1
#define ANABRANCH_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* A simulation in progress. */
typedef struct anabranch anabranch;

/* A callback function with its argument. */
typedef void (*anabranch_function)(void *argument);

/* The version of the library, as in ANABRANCH_VERSION. */
const char *anabranch_version(void);

/* Creates a fabric without messages from the text of a scenario (TOML) with `topology`, one scheme, and any other keys of
 * scenarios but `workload`. Returns NULL on an error, and writes its description to `error`, truncated to `error_bytes`. */
anabranch *anabranch_new(const char *scenario, char *error, size_t error_bytes);

/* Like anabranch_new, with a folder: the names of files in the scenario (`file = "x.topo"`) are relative to it. With NULL, as in
 * anabranch_new, a scenario that names a file is an error. */
anabranch *anabranch_new_in(const char *scenario, const char *folder, char *error, size_t error_bytes);

/* Warnings about the scenario, as `anabranch check` prints them; empty if there are none. The text is valid until
 * anabranch_free. */
const char *anabranch_warnings(const anabranch *simulation);

/* The number of ranks, which send and receive: 0 to anabranch_ranks - 1. Where the topology has servers, ranks are their GPUs,
 * server by server, and a GPU uses its own NIC; otherwise a rank is a host. */
uint32_t anabranch_ranks(const anabranch *simulation);

/* The number of hosts. A host is one NIC. */
uint32_t anabranch_hosts(const anabranch *simulation);

/* The rate at which a host can send, that of all its ports together, in bit/s; 0 if there is no such host. */
uint64_t anabranch_host_rate(const anabranch *simulation, uint32_t host);

/* Ends a simulation. */
void anabranch_free(anabranch *simulation);

/* Posts a message now, from rank `from` to rank `to`, on the queue pair that all such messages of the two share. `on_sent` is
 * called when the sender has the last acknowledgement; it may be NULL, which is faster.
 *
 * Between GPUs of one NVLink domain (`nvlink` in the topology) a message takes NVLink: it occupies the sender and the receiver
 * for its serialization, one message after the other in the order of posting, and arrives a latency later; `on_sent` is called
 * when its last byte has left. Messages to GPUs of other domains use the NIC of the sending GPU.
 *
 * No bytes, or a message of a rank to itself, are errors. */
int anabranch_send(anabranch *simulation, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag,
                   anabranch_function on_sent, void *argument);

/* The number of a queue pair that carries this message alone. */
#define ANABRANCH_OWN_QUEUE_PAIR UINT64_MAX

/* Posts a message as anabranch_send does, on another queue pair: messages of one `from`, `to` and `queue_pair` share theirs,
 * and anabranch_send uses number 0. Numbers are yours, such as one for each collective. It matters where the path depends on
 * the queue pair (ECMP), and for the state of congestion control, which a queue pair keeps. */
int anabranch_send_on(anabranch *simulation, uint64_t queue_pair, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag,
                      anabranch_function on_sent, void *argument);

/* Posts a receive. `on_received` is called when the whole message has arrived, or at the current time if it has already: not
 * within this call, but by anabranch_run, after everything else that is due at that time.
 * The n-th receive of a sender, receiver and tag gets their n-th message, both in the order of posting, as in MPI: a short
 * message may arrive before a long one that was posted first, and each still belongs to its own receive. Both must have
 * the same length, or the later one of the two calls fails and posts nothing. */
int anabranch_receive(anabranch *simulation, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag,
                      anabranch_function on_received, void *argument);

/* Schedules a call of `function` after `delay_ps` picoseconds. With 0 it is called by anabranch_run at the current time, after
 * everything else that is due then, not within this call. */
int anabranch_schedule(anabranch *simulation, uint64_t delay_ps, anabranch_function function, void *argument);

/* The simulated time, in picoseconds. */
uint64_t anabranch_time_ps(const anabranch *simulation);

/* Simulates and calls your functions until there are no more events. Your functions may call all of the above but
 * anabranch_free, and post between any ranks; their posts start at the time at which they are called. They may also call
 * anabranch_run, which then returns first. A receive without a message at the end is an error.
 *
 * At equal times your functions are called in this order: for arrived messages, in the order of their anabranch_send; for
 * acknowledged messages, likewise; then scheduled ones, in the order of anabranch_schedule.
 *
 * When it has returned 0, the time is that of the last event; more may be posted then, and simulated by another call. When
 * the simulation itself has failed (messages cannot be delivered, or a limit of the scenario), further calls return the
 * same error. */
int anabranch_run(anabranch *simulation);

/* Ends the present anabranch_run: it returns 0 as soon as your function that calls this has returned. Messages in flight stay
 * in flight, and another anabranch_run goes on with them. A simulator that knows that all its ranks are done calls this, so that
 * acknowledgements that are still on the way, or lost, do not matter. Outside of anabranch_run it has no effect. */
void anabranch_stop(anabranch *simulation);

/* Writes a total until now to `value`: flows, flows_finished, packet_hops, drops, link_losses, trims, ecn_marks,
 * retransmissions, timeouts, pause_frames, pause_us, peak_queue_bytes, queue_p99_bytes, and those of the scheme. They are the
 * columns of `anabranch run`; without NVLink, which has no packets. Each call looks at every message. */
int anabranch_counter(anabranch *simulation, const char *name, double *value);

/* Describes the last error. The text is valid until the next call, so do not print it in the statement that contains the call
 * that fails. */
const char *anabranch_error(const anabranch *simulation);

#ifdef __cplusplus
}
#endif

#endif
