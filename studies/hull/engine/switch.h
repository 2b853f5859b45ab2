#ifndef PACKETS_SWITCH_H
#define PACKETS_SWITCH_H

#include "frame.h"

#include <map>
#include <utility>
#include <vector>

namespace packets
{

/// A switch: looks up the port of a frame, by its connection where a path is pinned, else by its destination.
class Switch : public FrameSink
{
  public:
    explicit Switch(size_t hosts);

    void Take(Frame frame) override;
    /// Frames to this host leave by this port.
    void Route(uint16_t host, FrameSink* port);
    /// Frames of this connection and direction (@p forward: from its client) leave by this port.
    void Pin(uint32_t connection, bool forward, FrameSink* port);

  private:
    std::vector<FrameSink*> m_routes;
    std::map<std::pair<uint32_t, bool>, FrameSink*> m_pins;
};

} // namespace packets

#endif
