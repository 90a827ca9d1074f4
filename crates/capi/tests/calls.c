/* Tests calls that the other programs do not use. Usage: `calls FOLDER`, where the folder has two.topo. */
#include "anabranch.h"

#include <stdio.h>

static anabranch *network;

static void stop(void *unused) {
    (void)unused;
    anabranch_stop(network);
}

static double counter(const char *name) {
    double value = -1;
    anabranch_counter(network, name, &value);
    return value;
}

static int failed(const char *why) {
    printf("%s\n", why);
    return 1;
}

int main(int count, char **arguments) {
    const char *rails = "schemes = [\"reps\"]\n"
                        "topology = { kind = \"rails\", servers = 2, nics = 2, link = \"400Gbps\", "
                        "nvlink = \"3600Gbps\", nvlink_latency = \"25ns\" }\n";
    const char *graph = "schemes = [\"reps\"]\ntopology = { kind = \"graph\", file = \"two.topo\" }\n";
    char why[1024];
    if (count != 2) {
        return failed("usage: calls FOLDER");
    }
    network = anabranch_new(rails, why, sizeof why);
    if (network == NULL) {
        return failed(why);
    }
    printf("%u ranks, %u hosts of %llu Gb/s, warnings: \"%s\"\n", (unsigned)anabranch_ranks(network),
           (unsigned)anabranch_hosts(network), (unsigned long long)(anabranch_host_rate(network, 3) / 1000000000),
           anabranch_warnings(network));
    if (anabranch_send_on(network, 7, 0, 2, 1000, 0, NULL, NULL) != 0 ||
        anabranch_send_on(network, ANABRANCH_OWN_QUEUE_PAIR, 0, 1, 131072, 0, NULL, NULL) != 0 ||
        anabranch_receive(network, 0, 1, 131072, 0, stop, NULL) != 0 || anabranch_run(network) != 0) {
        return failed(anabranch_error(network));
    }
    printf("%llu ps, %.0f of %.0f flows\n", (unsigned long long)anabranch_time_ps(network), counter("flows_finished"),
           counter("flows"));
    if (anabranch_run(network) != 0) {
        return failed(anabranch_error(network));
    }
    printf("%.0f of %.0f flows\n", counter("flows_finished"), counter("flows"));
    anabranch_free(network);

    if (anabranch_new(graph, why, sizeof why) != NULL) {
        return failed("there is no folder, and a file was found");
    }
    network = anabranch_new_in(graph, arguments[1], why, sizeof why);
    if (network == NULL) {
        return failed(why);
    }
    printf("%u hosts of %llu Gb/s\n", (unsigned)anabranch_hosts(network),
           (unsigned long long)(anabranch_host_rate(network, 0) / 1000000000));
    if (counter("unknown") == -1) {
        printf("%.19s\n", anabranch_error(network));
    }
    anabranch_free(network);
    return 0;
}
