/* A network behind the calls that simulators of training need (ASTRA-sim's network interface): send, receive, schedule
 * and time. Messages are posted during the simulation, and every packet is simulated. For ASTRA-sim itself there is a
 * ready adapter, anabranch_network.cc.
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
 * Only one thread may use a simulation at a time. A simulation has no thread of its own: the thread that calls
 * anabranch_run simulates everything and calls your functions. Functions that return an int return 0 on success and -1
 * on an error. anabranch_error then describes the error with a hint. An exception or longjmp must not leave your
 * functions.
 *
 * The limits of the scenario apply. A run fails if a message in the network is not acknowledged by limits.max_time
 * (1 s unless the scenario sets it), or if no new byte is delivered for limits.stall. About 400 B are kept for each
 * message until anabranch_free, and a queue pair carries at most 2^32 packets. */
#ifndef ANABRANCH_H
#define ANABRANCH_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header. anabranch_version returns that of the library. */
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

/* The version of the library, in the format of ANABRANCH_VERSION. */
const char *anabranch_version(void);

/* Creates a fabric without messages from the text of a scenario (TOML). The scenario has `topology`, one scheme, and
 * any other keys of scenarios except `workload`. On an error, returns NULL and writes the error's description to
 * `error`, truncated to `error_bytes` bytes. */
anabranch *anabranch_new(const char *scenario, char *error, size_t error_bytes);

/* Like anabranch_new, with a folder. The names of files in the scenario (`file = "x.topo"`) are relative to this
 * folder. If the folder is NULL, a scenario that names a file is an error, as in anabranch_new. */
anabranch *anabranch_new_in(const char *scenario, const char *folder, char *error, size_t error_bytes);

/* Warnings about the scenario, in the format of `anabranch check`. The text is empty if there are none, and valid
 * until anabranch_free. */
const char *anabranch_warnings(const anabranch *simulation);

/* The number of ranks, which send and receive. They are numbered from 0 to anabranch_ranks - 1. If the topology has
 * servers with GPUs, the ranks are the GPUs, server by server, and each GPU uses one NIC, which other GPUs of its
 * server may share. If the topology has no such servers, the ranks are the hosts. */
uint32_t anabranch_ranks(const anabranch *simulation);

/* The number of hosts. A host is one NIC. */
uint32_t anabranch_hosts(const anabranch *simulation);

/* The rate at which a host can send by all its ports together, in bit/s. 0 if there is no such host. */
uint64_t anabranch_host_rate(const anabranch *simulation, uint32_t host);

/* Ends a simulation. */
void anabranch_free(anabranch *simulation);

/* Posts a message now, from rank `from` to rank `to`. All messages that anabranch_send posts from `from` to `to` share
 * one queue pair. `on_sent` is called when the sender receives the message's last acknowledgement. `on_sent` may be
 * NULL, which is faster.
 *
 * Between GPUs of one NVLink domain (`nvlink` in the topology), a message goes over NVLink. The message occupies the
 * sender and the receiver for its serialisation time, and arrives one latency later. Messages of one GPU are sent one
 * after the other, in the order of posting. `on_sent` is called when the message's last byte has left. All other
 * messages use the NICs of the two GPUs.
 *
 * A message of no bytes, or from a rank to itself, is an error. */
int anabranch_send(anabranch *simulation, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag,
                   anabranch_function on_sent, void *argument);

/* The number of a queue pair that carries only one message. */
#define ANABRANCH_OWN_QUEUE_PAIR UINT64_MAX

/* Posts a message as anabranch_send does, on the queue pair with the number `queue_pair`. Messages with the same
 * `from`, `to` and `queue_pair` share a queue pair, and anabranch_send uses the number 0. GPUs that share a NIC also
 * share its queue pairs. You choose the numbers, such as one for each collective. A queue pair keeps the state of the
 * congestion control, and the path of a message may depend on its queue pair (ECMP). */
int anabranch_send_on(anabranch *simulation, uint64_t queue_pair, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag,
                      anabranch_function on_sent, void *argument);

/* Posts a receive. `on_received` is called when the whole message arrives, or at the current time if it has already
 * arrived. If it has already arrived, anabranch_run calls `on_received` after everything else that is already due at
 * the current time.
 *
 * The n-th receive with a given sender, receiver and tag gets the n-th message with this sender, receiver and tag, in
 * the order of posting, as in MPI. A short message may arrive before a long message that was posted first, and each
 * message still belongs to its own receive. A receive and its message must have the same length. If the lengths
 * differ, the later of the two calls fails and posts nothing. */
int anabranch_receive(anabranch *simulation, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag,
                      anabranch_function on_received, void *argument);

/* Schedules a call of `function` after `delay_ps` picoseconds. With 0, anabranch_run calls `function` at the current
 * time, after everything else that is already due at that time. */
int anabranch_schedule(anabranch *simulation, uint64_t delay_ps, anabranch_function function, void *argument);

/* The simulated time, in picoseconds. */
uint64_t anabranch_time_ps(const anabranch *simulation);

/* Simulates, and calls your functions, until there are no more events. Your functions may call every function of this
 * header except anabranch_free, and may post between any ranks. Their posts start at the current time of the
 * simulation. If one of your functions calls anabranch_run, that inner call returns first. A receive that has no
 * message when no event is left is an error.
 *
 * Functions that are due at one time are called in this order: first those for arrived messages, then those for
 * acknowledged messages, both in the order of the anabranch_send calls, and then scheduled functions, in the order of
 * the anabranch_schedule calls.
 *
 * After a return value of 0, the time is that of the last event. You may then post more messages and simulate them by
 * another call. If the simulation itself fails (messages cannot be delivered, or a limit of the scenario is reached),
 * further calls of anabranch_run return the same error. */
int anabranch_run(anabranch *simulation);

/* Ends the present anabranch_run, which returns 0 as soon as your function that calls this has returned. Messages in
 * flight stay in flight, and the next anabranch_run continues with them. A simulator calls anabranch_stop when all
 * its ranks are done, so that acknowledgements that are late or lost do not matter. Outside of anabranch_run the call
 * has no effect. */
void anabranch_stop(anabranch *simulation);

/* Writes the total with this name until now to `value`: flows, flows_finished, packet_hops, drops, link_losses,
 * trims, ecn_marks, retransmissions, timeouts, pause_frames, pause_us, peak_queue_bytes, queue_p99_bytes, or a
 * counter of the scheme. The totals are those in the columns of `anabranch run`. They do not include NVLink, which
 * has no packets. Each call visits every message, which takes time. */
int anabranch_counter(anabranch *simulation, const char *name, double *value);

/* Describes the last error. The text is valid until the next call. */
const char *anabranch_error(const anabranch *simulation);

#ifdef __cplusplus
}
#endif

#endif
