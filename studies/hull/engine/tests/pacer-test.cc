#include "pacer.h"
#include "sink.h"

#include "ns3/rng-seed-manager.h"

#include <doctest/doctest.h>

using packets::Pacer;

namespace
{

constexpr int64_t US = 1000;
constexpr int64_t MS = 1'000'000;

struct Rig
{
    explicit Rig(double associate = 1)
        : settings{{}, associate, 10 * MS, 500},
          pacer(settings, "host", &sink, 2, 1)
    {
    }

    ~Rig()
    {
        ns3::Simulator::Destroy();
    }

    Sink sink;
    Pacer::Settings settings;
    Pacer pacer;
};

} // namespace

TEST_CASE("a flow that has heard no echo passes at once")
{
    Rig rig;
    for (int n = 0; n < 10; ++n)
    {
        rig.pacer.Take(Data(990));
    }
    CHECK(rig.sink.arrived.size() == 10);
    CHECK(rig.pacer.Flows()[0].packets == 10);
    CHECK(rig.pacer.Bucket().Tokens() == 24000); // and spends no tokens
}

TEST_CASE("an associated flow spends the bucket and then waits for tokens: by hand")
{
    Rig rig;
    rig.pacer.Echo(0);
    for (int n = 0; n < 5; ++n)
    {
        rig.pacer.Take(Data(990)); // 7,920 bits each: three fit into 24,000, 240 are left
    }
    CHECK(rig.sink.arrived.size() == 3);
    CHECK(rig.pacer.WaitingPackets() == 2);
    ns3::Simulator::Stop(ns3::MicroSeconds(200));
    ns3::Simulator::Run();
    // The head lacks 7,680 bits, 76.8 us at 100 Mb/s, but at 32 us the rate is made anew:
    // 0.875 * 100e6 + 0.125 * 39,600 / 32e-6 + 16 * 15,840 = 242.44e6. By then tokens are
    // 240 + 1,600 (16 us) and, the rate first, + 242.44e6 * 16e-6 = 3,879.05 (32 us): 5,719.05.
    // The lacking 2,200.95 take 9.078 us more: 41.079 us. It leaves tokens at -2,200.95.
    CHECK(rig.sink.arrived.size() == 5);
    CHECK(rig.sink.arrived[3].first == 41079);
    // The next lacks 10,120.95 bits: 41.745 us at that rate, to 82.824 us, past the update at 64 us:
    // rate 0.875 * 242.44e6 + 16 * 7,920 = 212.26e6; tokens -2,200.95 + 3,879.05 (48 us) + 3,396.19 (64 us)
    // = 5,074.29, and 2,845.71 more take 13.407 us: 77.407 us.
    CHECK(rig.sink.arrived[4].first == 77407);
}

TEST_CASE("packets behind a queue wait even when there are tokens, and leave in order")
{
    Rig rig;
    rig.pacer.Echo(0);
    for (uint32_t n = 0; n < 6; ++n)
    {
        rig.pacer.Take(Data(990 - n));
    }
    rig.pacer.Take(Data(100));
    ns3::Simulator::Stop(ns3::MilliSeconds(5));
    ns3::Simulator::Run();
    REQUIRE(rig.sink.arrived.size() == 7);
    for (uint32_t n = 0; n < 6; ++n)
    {
        CHECK(rig.sink.arrived[n].second.bytes == 990 - n);
    }
    CHECK(rig.sink.arrived[6].second.bytes == 100);
}

TEST_CASE("an association ends after its time, and another flow is not touched by it")
{
    Rig rig;
    rig.pacer.Echo(0);
    CHECK(rig.pacer.Associated(0));
    CHECK_FALSE(rig.pacer.Associated(1));
    At(9 * MS, [&] { rig.pacer.Echo(0); }); // an echo begins the time anew
    At(11 * MS, [&] { CHECK(rig.pacer.Associated(0)); });
    At(19 * MS, [&] { CHECK_FALSE(rig.pacer.Associated(0)); });
    At(20 * MS, [&] { rig.pacer.Echo(0); });
    ns3::Simulator::Run();
    CHECK(rig.pacer.Flows()[0].associations == 3);
    CHECK(rig.pacer.Flows()[0].begun == 2); // one ended before the last echo
    CHECK(rig.pacer.Flows()[1].associations == 0);
}

TEST_CASE("of many echoes the given share associates")
{
    Rig rig(0.125);
    for (int n = 0; n < 80000; ++n)
    {
        rig.pacer.Echo(1);
    }
    // Binomial: mean 10,000, standard deviation 93.5
    CHECK(rig.pacer.Flows()[1].associations > 9500);
    CHECK(rig.pacer.Flows()[1].associations < 10500);
}

TEST_CASE("what does not fit into the pacer's queue is dropped, and nothing is lost besides")
{
    Rig rig;
    rig.pacer.Echo(0);
    for (int n = 0; n < 600; ++n)
    {
        rig.pacer.Take(Data(990));
    }
    CHECK(rig.pacer.Count().passedPackets == 3);
    CHECK(rig.pacer.WaitingPackets() == 500);
    CHECK(rig.pacer.Count().droppedPackets == 97);
    ns3::Simulator::Stop(ns3::Seconds(1));
    ns3::Simulator::Run();
    CHECK(rig.sink.arrived.size() == 503);
}

TEST_CASE("a pacer whose rate has fallen to nothing sends all the same")
{
    Rig rig;
    At(2000 * MS, [&] {
        rig.pacer.Echo(0);
        for (int n = 0; n < 5; ++n)
        {
            rig.pacer.Take(Data(990));
        }
    });
    ns3::Simulator::Stop(ns3::MilliSeconds(2010));
    ns3::Simulator::Run();
    CHECK(rig.sink.arrived.size() == 5);
    CHECK(rig.sink.arrived.back().first < 2001 * MS);
}
