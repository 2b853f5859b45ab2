#ifndef PACKETS_HOST_H
#define PACKETS_HOST_H

#include "frame.h"
#include "socket.h"

#include "ns3/ipv4-route.h"
#include "ns3/node.h"
#include "ns3/tcp-l4-protocol.h"

#include <string>
#include <vector>

namespace packets
{

class Journal;
class Pacer;

/**
 * A host: ns-3's TCP above our network. IP forwarding, ARP and traffic control of ns-3 are left out between
 * them, because two hosts of these experiments never need them and they are most of a packet's cost.
 *
 * A connection is told by its client's port: FIRST_PORT + its number. Servers listen at SERVER_PORT.
 */
class Host : public FrameSink
{
  public:
    static constexpr uint16_t SERVER_PORT = 1000;
    static constexpr uint16_t FIRST_PORT = 2000;
    /// So many connections have a port each.
    static constexpr uint32_t MOST_CONNECTIONS = 60000;
    /// Bytes of the IP header, which is counted though never made.
    static constexpr uint32_t IP_HEADER = 20;

    Host(uint16_t index, const std::string& name, bool ecn, size_t connections);

    /// The address of a host by its index.
    static ns3::Ipv4Address AddressOf(uint16_t index);

    /// What takes the packets of this host, and the pacer on that way, or null, which hears of echoes.
    void SendTo(FrameSink* sink, Pacer* pacer);
    /// This socket is the host's end of that connection.
    void Own(uint32_t connection, ns3::Ptr<Socket> socket);

    /// A frame arrives from the network.
    void Take(Frame frame) override;

    ns3::Ptr<ns3::Node> Node() const
    {
        return m_node;
    }

    void Keep(Journal* journal)
    {
        m_journal = journal;
    }

  private:
    void Send(ns3::Ptr<ns3::Packet> packet, ns3::Ipv4Address from, ns3::Ipv4Address to, uint8_t protocol,
              ns3::Ptr<ns3::Ipv4Route> route);

    uint16_t m_index;
    std::string m_name;
    bool m_ecn;
    ns3::Ptr<ns3::Node> m_node;
    ns3::Ptr<ns3::TcpL4Protocol> m_tcp;
    FrameSink* m_sink{nullptr};
    Pacer* m_pacer{nullptr};
    std::vector<ns3::Ptr<Socket>> m_sockets;
    Journal* m_journal{nullptr};
};

} // namespace packets

#endif
