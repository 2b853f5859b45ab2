#ifndef PACKETS_SCENARIO_H
#define PACKETS_SCENARIO_H

#include "pacer.h"
#include "port.h"

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace packets
{

/// A scenario as it stands in its JSON file; docs/hull.md describes the fields. Times are nanoseconds.
struct Scenario
{
    struct Link
    {
        std::string from;
        std::string to;
        Port::Settings port;
    };

    struct Tcp
    {
        std::string variant{"reno"}; //!< reno or dctcp
        uint32_t segmentBytes{950};
        uint32_t windowSegments{1256};
        uint32_t initialSegments{2};
        uint32_t leastSegments{2};
        int64_t minRtoNs{10'000'000};
        int64_t idleNs{0}; //!< after so long the window starts anew; 0: never
        double g{0.0625};
        double startAlpha{1};
        bool sack{false};
        bool wholeCuts{false};  //!< DCTCP cuts by whole segments, rounded down
        bool prr{false};        //!< a cut takes a round trip
        bool growthAnew{false}; //!< a cut takes what DCTCP's window had of its next segment
    };

    struct Connection
    {
        std::string client;
        std::string server;
        std::vector<std::string> path; //!< switches from client to server; empty: a shortest way
    };

    struct Exchange
    {
        uint32_t connection;
        int64_t startNs;
        uint64_t requestBytes;
        uint64_t replyBytes; //!< 0: done when the request has arrived
        int64_t serviceNs;   //!< work of the server, one piece after another; 0: none
    };

    struct Sample
    {
        std::string from;
        std::string to;
        int64_t everyNs;
    };

    struct Trace
    {
        uint32_t connection;
        int64_t fromNs;
        int64_t untilNs;
    };

    uint32_t seed{1};
    int64_t measureFromNs{0};
    int64_t measureUntilNs{0}; //!< samples and counters are of this window
    int64_t endNs{0};          //!< give up on what is not done then
    std::vector<std::string> hosts;
    std::vector<std::string> switches;
    std::vector<Link> links;
    std::optional<Pacer::Settings> pacer;
    int64_t jitterNs{0}; //!< a switch takes a random while up to this for every packet
    Tcp tcp;
    std::vector<Connection> connections;
    std::vector<Exchange> exchanges; //!< by start
    std::vector<Sample> samples;
    std::optional<Trace> trace;
};

/// Read a scenario. Throws std::invalid_argument with one sentence for what makes no sense.
Scenario ReadScenario(std::istream& in);

} // namespace packets

#endif
