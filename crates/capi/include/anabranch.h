/* The network behind four calls that simulators of training need (ASTRA-sim's network interface): send, receive, schedule,
 * time. Messages are posted during the simulation, and packets are simulated one by one.
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
 *         anabranch_free(network);
 *         return 0;
 *     }
 *
 * Only one thread may use a simulation at a time. Your functions are called in the thread that is in anabranch_run. Functions
 * that return an int return 0, or -1 on an error, which anabranch_error describes with a hint.
 *
 * Everything is simulated once. Each simulation has a separate thread, which pauses while your functions run; a child
 * process of fork() does not have it. */
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

/* Ends a simulation. */
void anabranch_free(anabranch *simulation);

/* Posts a message now, on the only queue pair from `from` to `to`. `on_sent` is called when the sender has the last
 * acknowledgement; it may be NULL. */
int anabranch_send(anabranch *simulation, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag,
                   anabranch_function on_sent, void *argument);

/* Posts a receive. `on_received` is called when the whole message has arrived, or at the current time if it has already.
 * The n-th receive of a sender, receiver and tag gets their n-th message, both in the order of posting, as in MPI: a short
 * message may arrive before a long one that was posted first, and each still belongs to its own receive. Both must have
 * the same length, or the later one of the two calls fails and posts nothing. */
int anabranch_receive(anabranch *simulation, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag,
                      anabranch_function on_received, void *argument);

/* Schedules a call of `function` after `delay_ps` picoseconds. */
int anabranch_schedule(anabranch *simulation, uint64_t delay_ps, anabranch_function function, void *argument);

/* The simulated time, in picoseconds. */
uint64_t anabranch_time_ps(const anabranch *simulation);

/* Simulates and calls your functions until there are no more events. Your functions may call all of the above but
 * anabranch_free, and post between any hosts; their posts start at the time at which they are called. A receive without a
 * message at the end is an error.
 *
 * At equal times your functions are called in this order: for arrived messages, in the order of their anabranch_send; for
 * acknowledged messages, likewise; then scheduled ones, in the order of anabranch_schedule.
 *
 * When it has returned 0, the time is that of the last event; more may be posted then, and simulated by another call. When
 * the simulation itself has failed (messages cannot be delivered, or a limit of the scenario), further calls return the
 * same error. */
int anabranch_run(anabranch *simulation);

/* Describes the last error. The text is valid until the next call. */
const char *anabranch_error(const anabranch *simulation);

#ifdef __cplusplus
}
#endif

#endif
