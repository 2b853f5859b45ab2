#ifndef PACKETS_SOCKET_H
#define PACKETS_SOCKET_H

#include "ns3/ipv4-header.h"
#include "ns3/tcp-socket-base.h"

namespace packets
{

class Dctcp;

/**
 * ns-3's TCP socket, unchanged but for a shorter way in: a host that knows the socket of a connection hands it
 * its segments directly, past the search through all end points.
 */
class Socket : public ns3::TcpSocketBase
{
  public:
    static ns3::TypeId GetTypeId();

    /**
     * Make a socket as TcpL4Protocol would.
     * @param congestion type of the congestion control
     * @param prr whether a window that is cut falls over a round trip (RFC 6937), or at once
     */
    static ns3::Ptr<Socket> Create(ns3::Ptr<ns3::Node> node, ns3::TypeId congestion, bool prr);

    /// Take a segment that arrived under this IP header, from this port.
    void Segment(ns3::Ptr<ns3::Packet> packet, const ns3::Ipv4Header& header, uint16_t fromPort);

    uint32_t CongestionWindow() const;
    /// DCTCP's estimate, or 0 for other variants.
    double Alpha() const;
    /// How often the retransmission timer went off.
    uint64_t Timeouts() const
    {
        return m_timeouts;
    }

  protected:
    ns3::Ptr<ns3::TcpSocketBase> Fork() override;
    void ReTxTimeout() override;
    /**
     * What may be sent, bytes. ns-3 3.37 counts duplicate ACKs as room even when the receiver's window is full,
     * asks its buffer for a segment of no bytes then, and crashes: no new data past the receiver's window.
     */
    uint32_t AvailableWindow() const override;

  private:
    ns3::Ptr<Dctcp> AsDctcp() const;

    uint64_t m_timeouts{0};
};

} // namespace packets

#endif
