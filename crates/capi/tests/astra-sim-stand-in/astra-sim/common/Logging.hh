/* A stand-in for the logging of ASTRA-sim, which logs nothing. */
#pragma once

#include <string>

namespace AstraSim {

struct LoggerFactory {
    static void init(const std::string &, const std::string &) {}
    static void shutdown() {}
};

} // namespace AstraSim
