/* A ring AllReduce among the first N ranks of a fabric:
 *
 *     ring_all_reduce 'TOML of a scenario without workload' N BYTES
 *
 * The program prints the collective's completion time, from the first posting to the last acknowledgement, in
 * picoseconds. */
#include "anabranch.h"

#include <stdio.h>
#include <stdlib.h>

static anabranch *network;
static uint32_t ranks;
static uint64_t block;

struct rank {
    uint32_t number;
    /* The number of posted blocks. */
    uint32_t step;
};

static void check(int outcome) {
    if (outcome != 0) {
        fprintf(stderr, "%s\n", anabranch_error(network));
        exit(1);
    }
}

/* Sends a block to the next rank, and posts the receive of a block from the previous rank. The arrival of this block
 * starts the next step. */
static void next_step(void *argument) {
    struct rank *rank = argument;
    if (rank->step == 2 * (ranks - 1)) {
        return;
    }
    uint32_t next = (rank->number + 1) % ranks, before = (rank->number + ranks - 1) % ranks;
    uint32_t tag = rank->step++;
    check(anabranch_send(network, rank->number, next, block, tag, NULL, NULL));
    check(anabranch_receive(network, before, rank->number, block, tag, next_step, rank));
}

int main(int count, char **arguments) {
    char error[1024];
    if (count != 4) {
        fprintf(stderr, "usage: ring_all_reduce SCENARIO RANKS BYTES\n");
        return 2;
    }
    ranks = (uint32_t)strtoul(arguments[2], NULL, 10);
    if (ranks < 2) {
        fprintf(stderr, "a ring has two ranks at least\n");
        return 2;
    }
    block = strtoull(arguments[3], NULL, 10) / ranks;
    network = anabranch_new(arguments[1], error, sizeof error);
    if (network == NULL) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    struct rank *all = calloc(ranks, sizeof *all);
    if (all == NULL) {
        return 1;
    }
    for (uint32_t number = 0; number < ranks; number++) {
        all[number].number = number;
        check(anabranch_schedule(network, 0, next_step, &all[number]));
    }
    check(anabranch_run(network));
    printf("%llu\n", (unsigned long long)anabranch_time_ps(network));
    free(all);
    anabranch_free(network);
    return 0;
}
