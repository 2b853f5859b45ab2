#ifndef PACKETS_FRAME_H
#define PACKETS_FRAME_H

#include "ns3/packet.h"

#include <cstdint>

namespace packets
{

/**
 * One packet on its way through the network, with the few header fields that ports, pacers and switches
 * look at. The TCP segment itself stays in the ns-3 packet and is not touched between two hosts.
 */
struct Frame
{
    ns3::Ptr<ns3::Packet> packet; //!< the TCP segment; null in unit tests
    uint32_t connection{0};       //!< which connection of the scenario it belongs to
    uint32_t bytes{0};            //!< size on the wire: IP header, TCP header and payload
    uint16_t from{0};             //!< index of the sending host
    uint16_t to{0};               //!< index of the receiving host
    bool forward{false};          //!< sent by the connection's client
    bool ect{false};              //!< may be marked: a data segment of an ECN-capable connection
    bool ce{false};               //!< has been marked: congestion experienced
    bool ece{false};              //!< its TCP header echoes a mark
};

/// Whatever takes frames: a port, a pacer, a switch, a host.
class FrameSink
{
  public:
    virtual ~FrameSink() = default;
    /// Take a frame, now.
    virtual void Take(Frame frame) = 0;
};

} // namespace packets

#endif
