#include "jitter.h"
#include "sink.h"

#include <doctest/doctest.h>

#include <algorithm>

using packets::Jitter;

namespace
{

constexpr int64_t MOST_NS = 1000;

std::vector<int64_t>
Delays(int64_t gapNs)
{
    Sink sink;
    Jitter jitter(MOST_NS, &sink, 1);
    constexpr uint32_t COUNT = 2000;
    for (uint32_t n = 0; n < COUNT; ++n)
    {
        At(n * gapNs, [&jitter, n] { jitter.Take(Data(n)); });
    }
    ns3::Simulator::Run();
    ns3::Simulator::Destroy();
    std::vector<int64_t> delays;
    REQUIRE(sink.arrived.size() == COUNT);
    for (uint32_t n = 0; n < COUNT; ++n)
    {
        CHECK(sink.arrived[n].second.bytes == n); // in order
        delays.push_back(sink.arrived[n].first - n * gapNs);
    }
    return delays;
}

} // namespace

TEST_CASE("jitter is uniform up to its bound")
{
    const auto delays = Delays(10 * MOST_NS);
    CHECK(*std::min_element(delays.begin(), delays.end()) >= 0);
    CHECK(*std::max_element(delays.begin(), delays.end()) < MOST_NS);
    double sum = 0;
    for (const auto delay : delays)
    {
        sum += static_cast<double>(delay);
    }
    // Mean of 2,000 draws: 500 with a standard deviation of 289 / sqrt(2,000) = 6.5
    CHECK(sum / 2000 > 475);
    CHECK(sum / 2000 < 525);
}

TEST_CASE("jitter never lets a packet pass the one before it")
{
    const auto delays = Delays(10);
    CHECK(*std::max_element(delays.begin(), delays.end()) < MOST_NS);
}
