/* Anabranch as a network backend of ASTRA-sim: add this file to your copy of ASTRA-sim, and link it with ASTRA-sim's
 * library and with libanabranch_capi. docs/astra-sim.md says how, and what to expect of the times.
 *
 * The network configuration is a scenario of Anabranch (TOML) without [workload]. Files in the scenario are relative
 * to its folder. The NPUs are Anabranch's ranks: the GPUs of servers, or the hosts. Options beside those of
 * ASTRA-sim's other backends:
 *
 *     --logical-dims=8,2          the dimensions of the collectives, beginning with the one that varies fastest.
 *                                 Default: one dimension of all ranks
 *     --dimension-bandwidths=900,50
 *                                 the rates of the dimensions in GB/s of 2^30 B, for collective-optimization and for
 *                                 schedulers that ask for them. Default: the rate of a NIC
 *     --queue-pairs=pair|tag|message
 *                                 pair (default): all messages from one sender to one receiver share a queue pair.
 *                                 tag: only messages of one tag share a queue pair.
 *                                 message: each message has its own queue pair, as in ASTRA-sim's ns-3 backend
 *
 * The last line of output is "anabranch: finished at N ns", the time at which the last rank had finished. */
#include "anabranch.h"

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include <remote_memory_backend/analytical/AnalyticalRemoteMemory.hh>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr double BYTES_PER_GB = 1073741824.0;

[[noreturn]] void fail(const std::string &why) {
    std::fflush(stdout);
    std::fprintf(stderr, "anabranch: %s\n", why.c_str());
    // ASTRA-sim's objects are not destroyed, since ASTRA-sim may free parts of them twice.
    std::_Exit(1);
}

enum class QueuePairs { OfPair, OfTag, OfMessage };

/* The fabric that all ranks share. */
struct Fabric {
    anabranch *network = nullptr;
    QueuePairs queue_pairs = QueuePairs::OfPair;
    std::vector<double> bandwidths;
    int ranks = 0;
    int finished = 0;
    /* A number for each length of messages and receives. */
    std::map<uint64_t, uint64_t> lengths;

    void check(int outcome) const {
        if (outcome != 0) {
            fail(anabranch_error(network));
        }
    }

    /* In ASTRA-sim, messages and receives with the same tag but different lengths do not match. */
    uint64_t key(int tag, uint64_t count) {
        uint64_t length = lengths.emplace(count, lengths.size()).first->second;
        return length << 32 | static_cast<uint32_t>(tag);
    }

    uint64_t queue_pair(int tag) const {
        switch (queue_pairs) {
        case QueuePairs::OfTag: return static_cast<uint32_t>(tag);
        case QueuePairs::OfMessage: return ANABRANCH_OWN_QUEUE_PAIR;
        default: return 0;
        }
    }
};

void nothing(void *) {}

class Network : public AstraSim::AstraNetworkAPI {
  public:
    Network(int rank, Fabric &fabric) : AstraNetworkAPI(rank), fabric(fabric) {}

    int sim_send(void *, uint64_t count, int, int dst, int tag, AstraSim::sim_request *, void (*handler)(void *),
                 void *argument) override {
        // A handler that is NULL stays NULL, so that Anabranch need not pause at the acknowledgement.
        fabric.check(anabranch_send_on(fabric.network, fabric.queue_pair(tag), rank, dst, bytes(count),
                                       fabric.key(tag, count), handler, argument));
        return 0;
    }

    int sim_recv(void *, uint64_t count, int, int src, int tag, AstraSim::sim_request *, void (*handler)(void *),
                 void *argument) override {
        fabric.check(anabranch_receive(fabric.network, src, rank, bytes(count), fabric.key(tag, count),
                                       handler == nullptr ? nothing : handler, argument));
        return 0;
    }

    void sim_schedule(AstraSim::timespec_t delta, void (*handler)(void *), void *argument) override {
        long double ps = delta.time_val * picoseconds(delta.time_res);
        if (!(ps >= 0)) {
            fail("ASTRA-sim schedules an event in the past");
        }
        fabric.check(anabranch_schedule(fabric.network, static_cast<uint64_t>(std::roundl(ps)), handler, argument));
    }

    /* The time in whole nanoseconds, which are ASTRA-sim's ticks. */
    AstraSim::timespec_t sim_get_time() override {
        AstraSim::timespec_t now;
        now.time_res = AstraSim::NS;
        now.time_val = static_cast<long double>(anabranch_time_ps(fabric.network) / 1000);
        return now;
    }

    /* When all ranks have finished, acknowledgements that are still on the way, or lost, do not matter. */
    void sim_notify_finished() override {
        if (++fabric.finished == fabric.ranks) {
            anabranch_stop(fabric.network);
        }
    }

    double get_BW_at_dimension(int dimension) override {
        if (fabric.bandwidths.empty()) {
            return static_cast<double>(anabranch_host_rate(fabric.network, 0)) / 8 / BYTES_PER_GB;
        }
        bool is_known = dimension >= 0 && dimension < static_cast<int>(fabric.bandwidths.size());
        return is_known ? fabric.bandwidths[dimension] : -1;
    }

  private:
    Fabric &fabric;

    /* ASTRA-sim may send messages of no bytes. Here they have one byte. */
    static uint64_t bytes(uint64_t count) { return count == 0 ? 1 : count; }

    static long double picoseconds(AstraSim::time_type_e unit) {
        switch (unit) {
        case AstraSim::SE: return 1e12L;
        case AstraSim::MS: return 1e9L;
        case AstraSim::US: return 1e6L;
        case AstraSim::FS: return 1e-3L;
        default: return 1e3L;
        }
    }
};

/* Options of the form --name=value or --name value. */
class Options {
  public:
    Options(int count, char **arguments) {
        for (int i = 1; i < count; i++) {
            std::string argument = arguments[i];
            if (argument.rfind("--", 0) != 0) {
                fail("unexpected argument " + argument + "; options are --name=value");
            }
            size_t equals = argument.find('=');
            std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
            if (values.count(name) == 0) {
                fail("unknown option --" + name);
            }
            bool is_separate = equals == std::string::npos;
            if (is_separate && i + 1 == count) {
                fail("--" + name + " has no value");
            }
            values[name] = is_separate ? arguments[++i] : argument.substr(equals + 1);
        }
    }

    const std::string &text(const std::string &name) const { return values.at(name); }

    const std::string &required(const std::string &name) const {
        if (text(name).empty()) {
            fail("--" + name + "=FILE is missing");
        }
        return text(name);
    }

    std::vector<double> numbers(const std::string &name) const {
        std::vector<double> all;
        std::stringstream list(text(name));
        for (std::string part; std::getline(list, part, ',');) {
            char *end = nullptr;
            double number = std::strtod(part.c_str(), &end);
            if (end == part.c_str() || *end != 0 || !(number > 0)) {
                fail("--" + name + ": \"" + part + "\" is no number above 0");
            }
            all.push_back(number);
        }
        return all;
    }

    double number(const std::string &name) const {
        std::vector<double> all = numbers(name);
        if (all.size() != 1) {
            fail("--" + name + " takes one number");
        }
        return all[0];
    }

    int whole(const std::string &name) const {
        double value = number(name);
        if (value != std::floor(value) || value > 1e9) {
            fail("--" + name + " takes a whole number");
        }
        return static_cast<int>(value);
    }

  private:
    std::map<std::string, std::string> values = {
        {"workload-configuration", ""},
        {"system-configuration", ""},
        {"network-configuration", ""},
        {"remote-memory-configuration", ""},
        {"comm-group-configuration", "empty"},
        {"logging-configuration", "empty"},
        {"logging-folder", "log"},
        {"num-queues-per-dim", "1"},
        {"comm-scale", "1"},
        {"injection-scale", "1"},
        {"rendezvous-protocol", "false"},
        {"logical-dims", ""},
        {"dimension-bandwidths", ""},
        {"queue-pairs", "pair"},
    };
};

QueuePairs queue_pairs_of(const std::string &word) {
    if (word == "pair") {
        return QueuePairs::OfPair;
    }
    if (word == "tag") {
        return QueuePairs::OfTag;
    }
    if (word == "message") {
        return QueuePairs::OfMessage;
    }
    fail("--queue-pairs=" + word + ": write pair, tag or message");
}

anabranch *open_scenario(const std::string &path) {
    std::ifstream file(path);
    std::stringstream text;
    if (!file || !(text << file.rdbuf())) {
        fail(path + " cannot be read");
    }
    size_t slash = path.rfind('/');
    std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    std::vector<char> why(4096);
    anabranch *network = anabranch_new_in(text.str().c_str(), folder.c_str(), why.data(), why.size());
    if (network == nullptr) {
        fail(path + ": " + why.data());
    }
    if (*anabranch_warnings(network) != 0) {
        std::fprintf(stderr, "anabranch: %s: %s\n", path.c_str(), anabranch_warnings(network));
    }
    return network;
}

/* Starts the logs of ASTRA-sim. The second function is for older versions, which have no folder for logs. */
template <typename Factory>
auto begin_logs(const Options &options, int) -> decltype(Factory::init(std::string(), std::string())) {
    return Factory::init(options.text("logging-configuration"), options.text("logging-folder"));
}

template <typename Factory> void begin_logs(const Options &options, long) {
    Factory::init(options.text("logging-configuration"));
}

/* The number of NPUs in each dimension. */
std::vector<int> dimensions(const Options &options, int ranks) {
    std::vector<int> sizes;
    for (double size : options.numbers("logical-dims")) {
        if (size != std::floor(size) || size > ranks) {
            fail("--logical-dims: a dimension has a whole number of NPUs, at most " + std::to_string(ranks));
        }
        sizes.push_back(static_cast<int>(size));
    }
    if (sizes.empty()) {
        return {ranks};
    }
    double npus = std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<double>());
    if (npus > ranks) {
        fail("--logical-dims has more NPUs than the " + std::to_string(ranks) + " ranks of the fabric");
    }
    return sizes;
}

} // namespace

int main(int count, char **arguments) {
    Options options(count, arguments);
    begin_logs<AstraSim::LoggerFactory>(options, 0);

    static Fabric fabric;
    fabric.queue_pairs = queue_pairs_of(options.text("queue-pairs"));
    fabric.bandwidths = options.numbers("dimension-bandwidths");
    fabric.network = open_scenario(options.required("network-configuration"));
    std::vector<int> sizes = dimensions(options, static_cast<int>(anabranch_ranks(fabric.network)));
    fabric.ranks = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<int>());
    std::vector<int> queues(sizes.size(), options.whole("num-queues-per-dim"));

    auto *memory = new Analytical::AnalyticalRemoteMemory(options.required("remote-memory-configuration"));
    std::vector<AstraSim::Sys *> systems;
    for (int rank = 0; rank < fabric.ranks; rank++) {
        systems.push_back(new AstraSim::Sys(
            rank, options.required("workload-configuration"), options.text("comm-group-configuration"),
            options.required("system-configuration"), memory, new Network(rank, fabric), sizes, queues,
            options.number("injection-scale"), options.number("comm-scale"),
            options.text("rendezvous-protocol") == "true"));
    }
    for (AstraSim::Sys *system : systems) {
        system->workload->fire();
    }
    fabric.check(anabranch_run(fabric.network));
    if (fabric.finished < fabric.ranks) {
        fail("nothing is left that could happen, and " + std::to_string(fabric.ranks - fabric.finished) + " of " +
             std::to_string(fabric.ranks) + " ranks have not finished; a receive or a dependency of theirs is never met");
    }
    std::printf("anabranch: finished at %llu ns\n",
                static_cast<unsigned long long>(anabranch_time_ps(fabric.network) / 1000));
    AstraSim::LoggerFactory::shutdown();
    anabranch_free(fabric.network);
    // No Sys is destroyed, since ASTRA-sim frees parts of it twice if there are communicator groups.
    return 0;
}
