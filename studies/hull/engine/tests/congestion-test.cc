#include "congestion.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include "sink.h"

#include <doctest/doctest.h>

using namespace ns3;

namespace
{

Ptr<TcpSocketState>
State(uint32_t segments)
{
    auto tcb = CreateObject<TcpSocketState>();
    tcb->m_segmentSize = 950;
    tcb->m_initialCWnd = 2;
    tcb->m_cWnd = segments * 950;
    tcb->m_ssThresh = 10 * 950;
    return tcb;
}

/// One window of @p segments ACKs, of which the first @p marked echo a mark.
void
Window(packets::Dctcp& dctcp, Ptr<TcpSocketState> tcb, uint32_t segments, uint32_t marked)
{
    for (uint32_t n = 0; n < segments; ++n)
    {
        tcb->m_ecnState = n < marked ? TcpSocketState::ECN_ECE_RCVD : TcpSocketState::ECN_IDLE;
        tcb->m_lastAckedSeq = tcb->m_lastAckedSeq + 950;
        tcb->m_nextTxSequence = tcb->m_lastAckedSeq + segments * 950;
        dctcp.PktsAcked(tcb, 1, MicroSeconds(100));
    }
}

} // namespace

TEST_CASE("DCTCP's estimate is the running mean of the marked share, with weight g")
{
    auto dctcp = CreateObject<packets::Dctcp>();
    auto tcb = State(10);
    dctcp->Init(tcb);
    CHECK(dctcp->Alpha() == 1);
    double alpha = 1;
    Window(*dctcp, tcb, 1, 0); // ns-3 begins its first window with the first ACK
    for (const uint32_t marked : {0u, 0u, 5u, 10u, 2u})
    {
        const double before = dctcp->Alpha();
        Window(*dctcp, tcb, 10, marked);
        alpha = dctcp->Alpha();
        CHECK(alpha <= (15.0 / 16) * before + 1.0 / 16);
        CHECK(alpha >= (15.0 / 16) * before - 1e-12);
    }
    for (int n = 0; n < 300; ++n)
    {
        Window(*dctcp, tcb, 10, 10);
    }
    CHECK(dctcp->Alpha() == doctest::Approx(1));
    for (int n = 0; n < 300; ++n)
    {
        Window(*dctcp, tcb, 10, 0);
    }
    CHECK(dctcp->Alpha() < 1e-4);
}

TEST_CASE("a mark takes alpha / 2 of the window, never below two segments; a loss takes half")
{
    auto dctcp = CreateObject<packets::Dctcp>();
    dctcp->SetAttribute("DctcpAlphaOnInit", DoubleValue(0.5));
    auto tcb = State(20);
    CHECK(dctcp->GetSsThresh(tcb, 20 * 950) == 15 * 950); // 1 - 0.5 / 2
    tcb->m_congState = TcpSocketState::CA_RECOVERY;
    CHECK(dctcp->GetSsThresh(tcb, 20 * 950) == 10 * 950);
    tcb->m_congState = TcpSocketState::CA_OPEN;
    dctcp->TimedOut(true);
    CHECK(dctcp->GetSsThresh(tcb, 20 * 950) == 10 * 950);
    dctcp->TimedOut(false);
    dctcp->SetAttribute("DctcpAlphaOnInit", DoubleValue(1));
    tcb->m_cWnd = 3 * 950;
    CHECK(dctcp->GetSsThresh(tcb, 0) == 2 * 950); // 1.5 segments otherwise
    tcb->m_cWnd = 2 * 950;
    CHECK(dctcp->GetSsThresh(tcb, 0) == 2 * 950);
}

TEST_CASE("cuts of whole segments are rounded down, as Linux's")
{
    auto dctcp = CreateObject<packets::Dctcp>();
    dctcp->SetAttribute("WholeCuts", BooleanValue(true));
    dctcp->SetAttribute("DctcpAlphaOnInit", DoubleValue(0.2));
    auto tcb = State(25);
    CHECK(dctcp->GetSsThresh(tcb, 0) == 23 * 950); // 2.5 segments
    tcb->m_cWnd = 9 * 950;
    CHECK(dctcp->GetSsThresh(tcb, 0) == 9 * 950); // 0.9 of one
}

TEST_CASE("what a window has of its next segment goes with a cut, as Linux's, if so wished")
{
    for (const bool wished : {true, false})
    {
        auto dctcp = CreateObject<packets::Dctcp>();
        dctcp->SetAttribute("GrowthAnew", BooleanValue(wished));
        auto tcb = State(20);
        dctcp->IncreaseWindow(tcb, 19);
        CHECK(tcb->m_cWnd.Get() == 20 * 950);
        dctcp->GetSsThresh(tcb, 0);
        dctcp->IncreaseWindow(tcb, 1);
        CHECK(tcb->m_cWnd.Get() == (wished ? 20 : 21) * 950);
        dctcp->IncreaseWindow(tcb, 19);
        CHECK(tcb->m_cWnd.Get() == 21 * 950);
    }
}

TEST_CASE_TEMPLATE("windows stay within the largest", Variant, packets::Reno, packets::Dctcp)
{
    auto variant = CreateObject<Variant>();
    variant->SetAttribute("MostSegments", UintegerValue(8));
    auto tcb = State(7);
    for (int n = 0; n < 5; ++n)
    {
        variant->IncreaseWindow(tcb, 1); // slow start: one segment per ACK
    }
    CHECK(tcb->m_cWnd.Get() == 8 * 950);
}

TEST_CASE_TEMPLATE("after an idle time the window starts anew, if so wished", Variant, packets::Reno, packets::Dctcp)
{
    for (const bool wished : {true, false})
    {
        auto variant = CreateObject<Variant>();
        variant->SetAttribute("Idle", TimeValue(MilliSeconds(wished ? 10 : 0)));
        auto tcb = State(50);
        variant->PktsAcked(tcb, 1, MicroSeconds(100));
        At(9'000'000, [&] {
            variant->CwndEvent(tcb, TcpSocketState::CA_EVENT_TX_START);
            CHECK(tcb->m_cWnd.Get() == 50 * 950);
        });
        At(11'000'000, [&] {
            variant->CwndEvent(tcb, TcpSocketState::CA_EVENT_TX_START);
            CHECK(tcb->m_cWnd.Get() == (wished ? 2 : 50) * 950);
            CHECK(tcb->m_ssThresh.Get() == 10 * 950); // what was learnt of the path stays
        });
        Simulator::Run();
        Simulator::Destroy();
    }
}
