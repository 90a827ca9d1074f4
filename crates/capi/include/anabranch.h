/* The network behind four calls, as simulators of training want it (ASTRA-sim's network interface): send, receive,
 * schedule, time. Messages are posted as the simulation goes on, packets are simulated one by one.
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
 * One thread at a time uses a simulation, and your functions are called in the one that is in anabranch_run. What returns an
 * int returns 0, or -1 when something is wrong: anabranch_error then says what, and what to do instead.
 *
 * Everything is simulated once. Each simulation has a thread of its own, which stands still while your functions run; a
 * child process of fork() does not have it. */
#ifndef ANABRANCH_H
#define ANABRANCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A simulation in progress. */
typedef struct anabranch anabranch;

/* A function of yours, and what it gets. */
typedef void (*anabranch_function)(void *argument);

/* A fabric without messages, of a scenario's text (TOML): `topology`, one scheme, and what else scenarios have, but no
 * `workload`. NULL when something is wrong; `error` then has what, as far as it has room. */
anabranch *anabranch_new(const char *scenario, char *error, size_t error_bytes);

/* Ends a simulation. */
void anabranch_free(anabranch *simulation);

/* Posts a message now, on the one queue pair from `from` to `to`. `on_sent` is called when the sender has the last
 * acknowledgement; it may be NULL. */
int anabranch_send(anabranch *simulation, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag,
                   anabranch_function on_sent, void *argument);

/* `on_received` is called when the message has arrived whole, or at once if it has already. Of one sender, receiver and tag
 * the n-th receive gets the n-th message, both in the order of posting, as in MPI: a short message may arrive before a long
 * one that was posted first, and each still goes to its own receive. Both must say the same length, or the call that comes
 * second fails and posts nothing. */
int anabranch_receive(anabranch *simulation, uint32_t from, uint32_t to, uint64_t bytes, uint64_t tag,
                      anabranch_function on_received, void *argument);

/* `function` is called after `delay_ps` picoseconds. */
int anabranch_schedule(anabranch *simulation, uint64_t delay_ps, anabranch_function function, void *argument);

/* The simulated time, in picoseconds. */
uint64_t anabranch_time_ps(const anabranch *simulation);

/* Simulates, and calls your functions, until nothing is left that could happen. They may call all of the above but
 * anabranch_free, and post from and to any hosts: what they post starts at the time at which they are called. A receive that
 * is left at the end is an error.
 *
 * At one time your functions are called in this order: for messages that arrived, by the order of their anabranch_send; for
 * messages acknowledged, likewise; then what was scheduled, by the order of anabranch_schedule.
 *
 * When it has returned 0, time stands where the last of all that happened; more may be posted then, and simulated by calling
 * it again. When the simulation itself has failed (messages cannot get through, a limit of the scenario), calling it again
 * says the same. */
int anabranch_run(anabranch *simulation);

/* What was wrong last; it is valid until the next call. */
const char *anabranch_error(const anabranch *simulation);

#ifdef __cplusplus
}
#endif

#endif
