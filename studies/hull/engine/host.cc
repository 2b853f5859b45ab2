#include "host.h"

#include "journal.h"
#include "pacer.h"

#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-static-routing.h"

namespace packets
{

using namespace ns3;

namespace
{

constexpr uint32_t HEADER = 20; // of TCP, without options
constexpr uint32_t ECE = 0x40;
constexpr uint32_t SYN = 0x02;

/// Answers every question of TCP for a way out with the same route: the way is the network's business.
class OneRoute : public Ipv4StaticRouting
{
  public:
    explicit OneRoute(Ipv4Address source)
        : m_route(Create<Ipv4Route>())
    {
        m_route->SetSource(source);
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header&, Ptr<NetDevice>, Socket::SocketErrno&) override
    {
        return m_route;
    }

  private:
    using Socket = ns3::Socket;
    Ptr<Ipv4Route> m_route;
};

} // namespace

Host::Host(uint16_t index, const std::string& name, bool ecn, size_t connections)
    : m_index(index),
      m_name(name),
      m_ecn(ecn),
      m_node(CreateObject<ns3::Node>()),
      m_sockets(connections)
{
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(m_node);
    m_node->GetObject<Ipv4>()->SetRoutingProtocol(CreateObject<OneRoute>(AddressOf(index)));
    m_tcp = m_node->GetObject<TcpL4Protocol>();
    m_tcp->SetDownTarget(MakeCallback(&Host::Send, this));
}

Ipv4Address
Host::AddressOf(uint16_t index)
{
    return Ipv4Address(0x0a000001u + index);
}

void
Host::SendTo(FrameSink* sink, Pacer* pacer)
{
    m_sink = sink;
    m_pacer = pacer;
}

void
Host::Own(uint32_t connection, Ptr<Socket> socket)
{
    m_sockets[connection] = socket;
}

void
Host::Send(Ptr<Packet> packet, Ipv4Address, Ipv4Address to, uint8_t, Ptr<Ipv4Route>)
{
    uint8_t header[HEADER];
    packet->CopyData(header, HEADER);
    const uint32_t fromPort = header[0] << 8 | header[1];
    const uint32_t toPort = header[2] << 8 | header[3];
    const uint32_t flags = header[13];
    const uint32_t payload = packet->GetSize() - 4 * (header[12] >> 4);
    Frame frame;
    frame.bytes = packet->GetSize() + IP_HEADER;
    frame.packet = std::move(packet);
    frame.forward = fromPort != SERVER_PORT;
    frame.connection = (frame.forward ? fromPort : toPort) - FIRST_PORT;
    frame.from = m_index;
    frame.to = static_cast<uint16_t>(to.Get() - AddressOf(0).Get());
    // RFC 3168: data segments may be marked, pure ACKs and SYNs not. ns-3 would let every packet be.
    frame.ect = m_ecn && payload > 0;
    frame.ece = (flags & ECE) && !(flags & SYN);
    if (m_journal)
    {
        const auto& socket = m_sockets[frame.connection];
        m_journal->Sent(frame, m_name, socket ? socket->CongestionWindow() : 0, socket ? socket->Alpha() : 0);
    }
    m_sink->Take(std::move(frame));
}

void
Host::Take(Frame frame)
{
    if (m_journal)
    {
        m_journal->Received(frame, m_name);
    }
    if (frame.ece && m_pacer)
    {
        m_pacer->Echo(frame.connection);
    }
    Ipv4Header header;
    header.SetSource(AddressOf(frame.from));
    header.SetDestination(AddressOf(frame.to));
    header.SetEcn(frame.ce    ? Ipv4Header::ECN_CE
                  : frame.ect ? Ipv4Header::ECN_ECT0
                              : Ipv4Header::ECN_NotECT);
    if (const auto& socket = m_sockets[frame.connection])
    {
        const uint16_t fromPort =
            frame.forward ? static_cast<uint16_t>(FIRST_PORT + frame.connection) : SERVER_PORT;
        socket->Segment(frame.packet, header, fromPort);
        return;
    }
    // Handshakes find their way as ns-3 has it; interface 0, the loopback, stands in for the arriving one.
    m_tcp->Receive(frame.packet, header, m_node->GetObject<Ipv4L3Protocol>()->GetInterface(0));
}

} // namespace packets
