#include "port.h"
#include "sampler.h"
#include "sink.h"

#include <doctest/doctest.h>

using packets::Port;
using packets::Sampler;

namespace
{

struct Rig
{
    explicit Rig(const Port::Settings& settings)
        : port(settings, &sink)
    {
    }

    ~Rig()
    {
        ns3::Simulator::Destroy();
    }

    Sink sink;
    Port port;
};

Port::Settings
Plain()
{
    Port::Settings settings;
    settings.name = "a>b";
    return settings; // 1 Gb/s, 5 us, 500 packets
}

} // namespace

TEST_CASE("packets are sent one after another and arrive after the wire's delay")
{
    Rig rig(Plain());
    rig.port.Take(Data(990));
    rig.port.Take(Data(40));
    rig.port.Take(Data(990));
    CHECK(rig.port.WaitingBytes() == 1030);
    ns3::Simulator::Run();
    REQUIRE(rig.sink.arrived.size() == 3);
    CHECK(rig.sink.arrived[0].first == 7920 + 5000);
    CHECK(rig.sink.arrived[1].first == 7920 + 320 + 5000);
    CHECK(rig.sink.arrived[2].first == 7920 + 320 + 7920 + 5000);
}

TEST_CASE("a packet that comes the moment the wire is free neither waits nor overtakes")
{
    Rig rig(Plain());
    rig.port.Take(Data(990));
    At(7920, [&] {
        rig.port.Take(Data(500));
        CHECK(rig.port.WaitingBytes() == 0);
    });
    At(7920 + 4000 - 1, [&] { rig.port.Take(Data(501)); });
    At(7920 + 4000, [&] { rig.port.Take(Data(502)); });
    ns3::Simulator::Run();
    REQUIRE(rig.sink.arrived.size() == 4);
    CHECK(rig.sink.arrived[1].first == 7920 + 4000 + 5000);
    CHECK(rig.sink.arrived[2].second.bytes == 501);
    CHECK(rig.sink.arrived[3].second.bytes == 502);
    CHECK(rig.sink.arrived[3].first == 7920 + 4000 + 4008 + 4016 + 5000);
}

TEST_CASE("a full queue drops what comes, and every byte is accounted for")
{
    auto settings = Plain();
    settings.queuePackets = 3;
    Rig rig(settings);
    for (int n = 0; n < 10; ++n)
    {
        rig.port.Take(Data(990));
    }
    const auto& count = rig.port.Count();
    CHECK(count.droppedPackets == 6);
    CHECK(count.arrivedBytes == count.sentBytes + count.droppedBytes + rig.port.WaitingBytes());
    CHECK(rig.port.OnTheWirePackets() == 1);
    ns3::Simulator::Run();
    CHECK(rig.sink.arrived.size() == 4);
    CHECK(count.arrivedBytes == count.sentBytes + count.droppedBytes);
    CHECK(rig.port.OnTheWirePackets() == 0);
}

TEST_CASE("arrivals are marked when more than K waits")
{
    auto settings = Plain();
    settings.markBytes = 1980;
    Rig rig(settings);
    for (int n = 0; n < 6; ++n)
    {
        rig.port.Take(Data(990)); // the first leaves at once; 0, 990, 1980, 2970 and 3960 wait for the others
    }
    auto ack = Data(40);
    ack.ect = false;
    rig.port.Take(ack);
    ns3::Simulator::Run();
    REQUIRE(rig.sink.arrived.size() == 7);
    const bool marked[] = {false, false, false, false, true, true, false};
    for (size_t n = 0; n < 7; ++n)
    {
        CHECK(rig.sink.arrived[n].second.ce == marked[n]);
    }
    CHECK(rig.port.Count().markedPackets == 2);
}

TEST_CASE("the phantom queue behind a port counts what leaves it, at the time it leaves")
{
    auto settings = Plain();
    settings.drainBps = 950e6;
    settings.phantomBytes = 1000;
    Rig rig(settings);
    rig.port.Take(Data(990));
    rig.port.Take(Data(990)); // leaves 7,920 ns later: 1039.5 in the phantom queue
    At(100'000, [&] { rig.port.Take(Data(990)); });
    ns3::Simulator::Run();
    REQUIRE(rig.sink.arrived.size() == 3);
    CHECK_FALSE(rig.sink.arrived[0].second.ce);
    CHECK(rig.sink.arrived[1].second.ce);
    CHECK_FALSE(rig.sink.arrived[2].second.ce);
}

TEST_CASE("a sampler's mean is the integral of the queue over the interval: by hand")
{
    Rig rig(Plain());
    Sampler sampler(rig.port, 10'000, 0, 30'000);
    At(1'000, [&] {
        rig.port.Take(Data(990)); // on the wire until 8,920
        rig.port.Take(Data(500)); // waits from 1,000 to 8,920, on the wire until 12,920
    });
    At(9'000, [&] { rig.port.Take(Data(100)); }); // waits from 9,000 to 12,920
    ns3::Simulator::Run();
    REQUIRE(sampler.MeanBytes().size() == 3);
    CHECK(sampler.MeanBytes()[0] == doctest::Approx((500 * 7920 + 100 * 1000) / 10'000.0));
    CHECK(sampler.MeanBytes()[1] == doctest::Approx(100 * 2920 / 10'000.0));
    CHECK(sampler.MeanBytes()[2] == 0);
    CHECK(sampler.InstantBytes()[0] == 100);
    CHECK(sampler.InstantBytes()[1] == 0);
}
