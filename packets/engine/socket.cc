#include "socket.h"

#include "congestion.h"

#include "ns3/ipv4-end-point.h"
#include "ns3/ipv4-interface.h"
#include "ns3/node.h"
#include "ns3/rtt-estimator.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-recovery-ops.h"

namespace packets
{

using namespace ns3;

NS_OBJECT_ENSURE_REGISTERED(Socket);

TypeId
Socket::GetTypeId()
{
    static TypeId tid = TypeId("packets::Socket").SetParent<TcpSocketBase>().AddConstructor<Socket>();
    return tid;
}

Ptr<Socket>
Socket::Create(Ptr<Node> node, TypeId congestion)
{
    ObjectFactory factory;
    factory.SetTypeId(congestion);
    auto socket = CreateObject<Socket>();
    socket->SetNode(node);
    socket->SetTcp(node->GetObject<TcpL4Protocol>());
    socket->SetRtt(CreateObject<RttMeanDeviation>());
    socket->SetCongestionControlAlgorithm(factory.Create<TcpCongestionOps>());
    // The window falls at once, as in the ns-2 the report used; ns-3's default spreads it over a round trip.
    socket->SetRecoveryAlgorithm(CreateObject<TcpClassicRecovery>());
    return socket;
}

void
Socket::Segment(Ptr<Packet> packet, const Ipv4Header& header, uint16_t fromPort)
{
    ForwardUp(packet, header, fromPort, nullptr);
}

uint32_t
Socket::CongestionWindow() const
{
    return m_tcb->m_cWnd;
}

double
Socket::Alpha() const
{
    const auto dctcp = DynamicCast<Dctcp>(m_congestionControl);
    return dctcp ? dctcp->Alpha() : 0;
}

Ptr<TcpSocketBase>
Socket::Fork()
{
    return CopyObject<Socket>(this);
}

void
Socket::ReTxTimeout()
{
    m_timeouts += 1;
    TcpSocketBase::ReTxTimeout();
}

} // namespace packets
