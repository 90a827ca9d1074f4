/* A stand-in for a rank of ASTRA-sim: a ring AllReduce. The workload is "MODE:BYTES" with one of these modes:
 *
 *     received      a rank has finished when it has received all its blocks
 *     acknowledged  a rank has finished when also all that it sent is acknowledged
 *     computing     as received, with a microsecond before the first block
 *     flags         as received; after each block comes a flag of one byte with the same tag, and flags are received first
 *     unfinished    no rank finishes
 *     large         as received; after the first block comes one with 2^32 bytes more and the same tag, which is received first
 *                   and for which no rank waits
 */
#pragma once

#include "astra-sim/common/AstraNetworkAPI.hh"
#include <remote_memory_backend/analytical/AnalyticalRemoteMemory.hh>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace AstraSim {

class Workload {
  public:
    Workload(const std::string &text, AstraNetworkAPI *network, int ranks)
        : mode(text.substr(0, text.find(':'))), network(network), ranks(ranks),
          block(std::stoull(text.substr(text.find(':') + 1)) / ranks) {}

    void fire() {
        timespec_t delta{mode == "computing" ? US : NS, mode == "computing" ? 1.0L : 0.0L};
        network->sim_schedule(delta, begin_step, this);
    }

  private:
    std::string mode;
    AstraNetworkAPI *network;
    int ranks;
    uint64_t block;
    int step = 0;
    int unfinished = 0;

    static void begin_step(void *argument) {
        auto *self = static_cast<Workload *>(argument);
        int next = (self->network->rank + 1) % self->ranks;
        int before = (self->network->rank + self->ranks - 1) % self->ranks;
        int tag = self->step++;
        bool is_acknowledged = self->mode == "acknowledged";
        self->unfinished += 1 + is_acknowledged;
        self->network->sim_send(nullptr, self->block, 0, next, tag, nullptr, is_acknowledged ? end : nullptr, self);
        if (self->mode == "flags") {
            self->unfinished += 1;
            self->network->sim_send(nullptr, 1, 0, next, tag, nullptr, nullptr, nullptr);
            self->network->sim_recv(nullptr, 1, 0, before, tag, nullptr, end, self);
        }
        if (self->mode == "large" && tag == 0) {
            uint64_t larger = self->block + (uint64_t{1} << 32);
            self->network->sim_send(nullptr, larger, 0, next, tag, nullptr, nullptr, nullptr);
            self->network->sim_recv(nullptr, larger, 0, before, tag, nullptr, nullptr, nullptr);
        }
        self->network->sim_recv(nullptr, self->block, 0, before, tag, nullptr, receive, self);
    }

    static void receive(void *argument) {
        auto *self = static_cast<Workload *>(argument);
        if (self->step < 2 * (self->ranks - 1)) {
            begin_step(argument);
        }
        end(argument);
    }

    static void end(void *argument) {
        auto *self = static_cast<Workload *>(argument);
        self->unfinished -= 1;
        if (self->unfinished == 0 && self->mode != "unfinished") {
            timespec_t now = self->network->sim_get_time();
            std::printf("rank %d finished at %.0Lf %s, %.3f GB/s\n", self->network->rank, now.time_val,
                        now.time_res == NS ? "ns" : "?", self->network->get_BW_at_dimension(0));
            self->network->sim_notify_finished();
        }
    }
};

class Sys {
  public:
    Sys(int, const std::string &workload, const std::string &, const std::string &, Analytical::AnalyticalRemoteMemory *,
        AstraNetworkAPI *network, const std::vector<int> &dimensions, const std::vector<int> &, double, double, bool) {
        int ranks = 1;
        for (int size : dimensions) {
            ranks *= size;
        }
        this->workload = new Workload(workload, network, ranks);
    }

    /* As ASTRA-sim with communicator groups, which cannot be destroyed. */
    ~Sys() { std::abort(); }

    Workload *workload;
};

} // namespace AstraSim
