/* A stand-in for the logging of ASTRA-sim, which logs nothing. OLDER_LOGGING makes it that of older versions. */
#pragma once

#include <string>

namespace AstraSim {

struct LoggerFactory {
#ifdef OLDER_LOGGING
    static void init(const std::string & = "empty") {}
#else
    static void init(const std::string &, const std::string &) {}
#endif
    static void shutdown() {}
};

} // namespace AstraSim
