#include "congestion.h"

#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace packets
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(Reno);
NS_OBJECT_ENSURE_REGISTERED(Dctcp);

namespace
{
void
Cap(Ptr<TcpSocketState> tcb, uint32_t segments)
{
    tcb->m_cWnd = std::min(tcb->m_cWnd.Get(), segments * tcb->m_segmentSize);
}
} // namespace

TypeId
Reno::GetTypeId()
{
    static TypeId tid = TypeId("packets::Reno")
                            .SetParent<TcpNewReno>()
                            .AddConstructor<Reno>()
                            .AddAttribute("MostSegments",
                                          "Largest congestion window, segments",
                                          UintegerValue(1256),
                                          MakeUintegerAccessor(&Reno::m_mostSegments),
                                          MakeUintegerChecker<uint32_t>(1));
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
    Cap(tcb, m_mostSegments);
}

Ptr<TcpCongestionOps>
Reno::Fork()
{
    return CopyObject<Reno>(this);
}

TypeId
Dctcp::GetTypeId()
{
    static TypeId tid = TypeId("packets::Dctcp")
                            .SetParent<TcpDctcp>()
                            .AddConstructor<Dctcp>()
                            .AddAttribute("MostSegments",
                                          "Largest congestion window, segments",
                                          UintegerValue(1256),
                                          MakeUintegerAccessor(&Dctcp::m_mostSegments),
                                          MakeUintegerChecker<uint32_t>(1))
                            .AddAttribute("LeastSegments",
                                          "Smallest congestion window after a mark, segments",
                                          UintegerValue(2),
                                          MakeUintegerAccessor(&Dctcp::m_leastSegments),
                                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

Dctcp::Dctcp()
{
    TraceConnectWithoutContext("CongestionEstimate", MakeCallback(&Dctcp::Estimated, this));
}

Dctcp::Dctcp(const Dctcp& other)
    : TcpDctcp(other),
      m_mostSegments(other.m_mostSegments),
      m_leastSegments(other.m_leastSegments),
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
    Cap(tcb, m_mostSegments);
}

uint32_t
Dctcp::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight)
{
    return std::max(TcpDctcp::GetSsThresh(tcb, bytesInFlight), m_leastSegments * tcb->m_segmentSize);
}

Ptr<TcpCongestionOps>
Dctcp::Fork()
{
    return CopyObject<Dctcp>(this);
}

} // namespace packets
