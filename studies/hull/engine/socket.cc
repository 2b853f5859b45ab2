#include "socket.h"

#include "congestion.h"

#include "ns3/ipv4-end-point.h"
#include "ns3/ipv4-interface.h"
#include "ns3/node.h"
#include "ns3/rtt-estimator.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-prr-recovery.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-tx-buffer.h"

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
Socket::Create(Ptr<Node> node, TypeId congestion, bool prr)
{
    ObjectFactory factory;
    factory.SetTypeId(congestion);
    auto socket = CreateObject<Socket>();
    socket->SetNode(node);
    socket->SetTcp(node->GetObject<TcpL4Protocol>());
    socket->SetRtt(CreateObject<RttMeanDeviation>());
    socket->SetCongestionControlAlgorithm(factory.Create<TcpCongestionOps>());
    // The window falls at once, as in the ns-2 the report used, or over a round trip, as Linux's (RFC 6937).
    if (prr)
    {
        socket->SetRecoveryAlgorithm(CreateObject<TcpPrrRecovery>());
    }
    else
    {
        socket->SetRecoveryAlgorithm(CreateObject<TcpClassicRecovery>());
    }
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
    const auto dctcp = AsDctcp();
    return dctcp ? dctcp->Alpha() : 0;
}

Ptr<Dctcp>
Socket::AsDctcp() const
{
    return DynamicCast<Dctcp>(m_congestionControl);
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
    if (const auto dctcp = AsDctcp())
    {
        dctcp->TimedOut(true);
        TcpSocketBase::ReTxTimeout();
        dctcp->TimedOut(false);
        return;
    }
    TcpSocketBase::ReTxTimeout();
}

uint32_t
Socket::AvailableWindow() const
{
    const uint32_t window = TcpSocketBase::AvailableWindow();
    const auto sent = static_cast<uint32_t>(m_tcb->m_highTxMark.Get() - m_txBuffer->HeadSequence());
    if (window > 0 && sent + m_tcb->m_segmentSize > m_rWnd)
    {
        SequenceNumber32 from;
        SequenceNumber32 to;
        if (!m_txBuffer->NextSeg(&from, &to, false) || from >= m_txBuffer->HeadSequence() + sent)
        {
            return 0; // nothing is lost that would have to be sent again
        }
    }
    return window;
}

} // namespace packets
