#include "pacer-behind-queue.h"
#include "sink.h"

#include <doctest/doctest.h>

using packets::Pacer;
using packets::PacerBehindQueue;
using packets::Port;

namespace
{

constexpr int64_t US = 1000;
constexpr int64_t MS = 1'000'000;

struct Rig
{
    explicit Rig(uint32_t queuePackets = 1000)
        : port({"host>switch", 1e9, 5 * US, queuePackets}, &sink),
          pacer({{}, 1, 10 * MS, 500}, "host", port, 2, 1)
    {
    }

    ~Rig()
    {
        ns3::Simulator::Destroy();
    }

    void RunFor(int64_t ns)
    {
        ns3::Simulator::Stop(ns3::NanoSeconds(ns));
        ns3::Simulator::Run();
    }

    Sink sink;
    Port port;
    PacerBehindQueue pacer;
};

} // namespace

TEST_CASE("behind the queue: packets that nobody paces leave back to back, as from the queue alone")
{
    Rig rig;
    for (int n = 0; n < 5; ++n)
    {
        rig.pacer.Take(Data(990));
    }
    rig.RunFor(1 * MS);
    REQUIRE(rig.sink.arrived.size() == 5);
    for (int n = 0; n < 5; ++n)
    {
        CHECK(rig.sink.arrived[n].first == 7920 * (n + 1) + 5000);
    }
}

TEST_CASE("behind the queue: a packet that is held stops those of other flows: by hand")
{
    Rig rig;
    rig.pacer.Echo(0);
    for (int n = 0; n < 4; ++n)
    {
        rig.pacer.Take(Data(990, 0)); // three of 7,920 bits fit into 24,000: 240 are left
    }
    rig.pacer.Take(Data(990, 1)); // has heard no echo
    rig.RunFor(1 * MS);
    REQUIRE(rig.sink.arrived.size() == 5);
    // At 0, 7.92 and 15.84 us packets leave for the link. At 23.76 us the fourth finds it free, and
    // 240 + 1,600 (16 us at 100 Mb/s) tokens. At 32 us, when M is four packets and Q is one, the rate becomes
    // 0.875 * 100e6 + 0.125 * 31,680 / 32e-6 + 16 * 7,920 = 211.38e6, and tokens 1,840 + 3,382.0 = 5,222.0;
    // the lacking 2,698.0 take 12.764 us: 44.764 us. On the wire for 7.92 us, and 5 us away:
    CHECK(rig.sink.arrived[3].first == 44764 + 7920 + 5000);
    // The other flow's is next, as soon as the link is free.
    CHECK(rig.sink.arrived[4].second.connection == 1);
    CHECK(rig.sink.arrived[4].first == rig.sink.arrived[3].first + 7920);
    CHECK(rig.pacer.Count().pacedPackets == 1);
    CHECK(rig.pacer.Count().passedPackets == 4);
}

TEST_CASE("behind the queue: what does not fit into the host's queue is dropped, and nothing is lost besides")
{
    Rig rig(10);
    rig.pacer.Echo(0);
    for (int n = 0; n < 20; ++n)
    {
        rig.pacer.Take(Data(990)); // the first goes to the link, ten wait
    }
    CHECK(rig.pacer.WaitingPackets() == 10);
    CHECK(rig.pacer.Count().droppedPackets == 9);
    rig.RunFor(100 * MS);
    CHECK(rig.sink.arrived.size() == 11);
    CHECK(rig.pacer.WaitingPackets() == 0);
}
