#include "congestion.h"

#include "ns3/boolean.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace packets
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(Reno);
NS_OBJECT_ENSURE_REGISTERED(Dctcp);

template <typename T>
TypeId
WindowBounds::AddAttributes(TypeId tid)
{
    return tid
        .AddAttribute("MostSegments",
                      "Largest congestion window, segments",
                      UintegerValue(1256),
                      MakeUintegerAccessor(&T::m_mostSegments),
                      MakeUintegerChecker<uint32_t>(1))
        .AddAttribute("Idle",
                      "After so long without an ACK the window starts anew; 0: never",
                      TimeValue(Seconds(0)),
                      MakeTimeAccessor(&T::m_idle),
                      MakeTimeChecker());
}

void
WindowBounds::Cap(Ptr<TcpSocketState> tcb) const
{
    tcb->m_cWnd = std::min(tcb->m_cWnd.Get(), m_mostSegments * tcb->m_segmentSize);
}

void
WindowBounds::Active()
{
    m_lastActive = Simulator::Now();
}

void
WindowBounds::Starts(Ptr<TcpSocketState> tcb) const
{
    if (!m_idle.IsZero() && Simulator::Now() - m_lastActive > m_idle)
    {
        tcb->m_cWnd = std::min(tcb->m_cWnd.Get(), tcb->m_initialCWnd * tcb->m_segmentSize);
    }
}

TypeId
Reno::GetTypeId()
{
    static TypeId tid = AddAttributes<Reno>(
        TypeId("packets::Reno").SetParent<TcpNewReno>().AddConstructor<Reno>());
    return tid;
}

std::string
Reno::GetName() const
{
    return "Reno";
}

void
Reno::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
    TcpNewReno::IncreaseWindow(tcb, segmentsAcked);
    Cap(tcb);
}

void
Reno::PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time& rtt)
{
    TcpNewReno::PktsAcked(tcb, segmentsAcked, rtt);
    Active();
}

void
Reno::CwndEvent(Ptr<TcpSocketState> tcb, TcpSocketState::TcpCAEvent_t event)
{
    TcpNewReno::CwndEvent(tcb, event);
    if (event == TcpSocketState::CA_EVENT_TX_START)
    {
        Starts(tcb);
    }
}

Ptr<TcpCongestionOps>
Reno::Fork()
{
    return CopyObject<Reno>(this);
}

TypeId
Dctcp::GetTypeId()
{
    static TypeId tid =
        AddAttributes<Dctcp>(TypeId("packets::Dctcp").SetParent<TcpDctcp>().AddConstructor<Dctcp>())
            .AddAttribute("LeastSegments",
                          "Smallest congestion window after a mark, segments",
                          UintegerValue(2),
                          MakeUintegerAccessor(&Dctcp::m_leastSegments),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("WholeCuts",
                          "A mark takes whole segments off the window, rounded down",
                          BooleanValue(false),
                          MakeBooleanAccessor(&Dctcp::m_wholeCuts),
                          MakeBooleanChecker())
            .AddAttribute("GrowthAnew",
                          "A cut takes what the window had of its next segment, too",
                          BooleanValue(false),
                          MakeBooleanAccessor(&Dctcp::m_growthAnew),
                          MakeBooleanChecker());
    return tid;
}

void
Dctcp::NotifyConstructionCompleted()
{
    TcpDctcp::NotifyConstructionCompleted();
    TraceConnectWithoutContext("CongestionEstimate", MakeCallback(&Dctcp::Estimated, this));
}

Dctcp::Dctcp(const Dctcp& other)
    : TcpDctcp(other),
      WindowBounds(other),
      m_leastSegments(other.m_leastSegments),
      m_wholeCuts(other.m_wholeCuts),
      m_growthAnew(other.m_growthAnew),
      m_acked(other.m_acked),
      m_lastAlpha(other.m_lastAlpha)
{
    TraceConnectWithoutContext("CongestionEstimate", MakeCallback(&Dctcp::Estimated, this));
}

void
Dctcp::Estimated(uint32_t /*markedBytes*/, uint32_t /*ackedBytes*/, double alpha)
{
    m_lastAlpha = alpha;
}

std::string
Dctcp::GetName() const
{
    return "Dctcp";
}

void
Dctcp::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
    TcpDctcp::IncreaseWindow(tcb, segmentsAcked);
    Cap(tcb);
}

void
Dctcp::CongestionAvoidance(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
    if (!m_growthAnew)
    {
        TcpDctcp::CongestionAvoidance(tcb, segmentsAcked);
        return;
    }
    // As ns-3's, whose own count no cut resets.
    const uint32_t window = std::max(tcb->m_cWnd.Get() / tcb->m_segmentSize, 1U);
    m_acked += segmentsAcked;
    tcb->m_cWnd += m_acked / window * tcb->m_segmentSize;
    m_acked %= window;
}

uint32_t
Dctcp::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight)
{
    m_acked = 0;
    const bool loss = m_timeout || tcb->m_congState == TcpSocketState::CA_RECOVERY;
    uint32_t wanted = loss ? tcb->m_cWnd.Get() / 2 : TcpDctcp::GetSsThresh(tcb, bytesInFlight);
    if (m_wholeCuts && !loss)
    {
        const uint32_t cut = (tcb->m_cWnd.Get() - wanted) / tcb->m_segmentSize;
        wanted = tcb->m_cWnd.Get() - cut * tcb->m_segmentSize;
    }
    return std::max(wanted, m_leastSegments * tcb->m_segmentSize);
}

void
Dctcp::PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time& rtt)
{
    TcpDctcp::PktsAcked(tcb, segmentsAcked, rtt);
    Active();
}

void
Dctcp::CwndEvent(Ptr<TcpSocketState> tcb, TcpSocketState::TcpCAEvent_t event)
{
    TcpDctcp::CwndEvent(tcb, event);
    if (event == TcpSocketState::CA_EVENT_TX_START)
    {
        Starts(tcb);
    }
}

Ptr<TcpCongestionOps>
Dctcp::Fork()
{
    return CopyObject<Dctcp>(this);
}

} // namespace packets
