#ifndef PACKETS_TESTS_SINK_H
#define PACKETS_TESTS_SINK_H

#include "frame.h"

#include "ns3/simulator.h"

#include <utility>
#include <vector>

/// Remembers what arrives and when.
class Sink : public packets::FrameSink
{
  public:
    void Take(packets::Frame frame) override
    {
        arrived.emplace_back(ns3::Simulator::Now().GetNanoSeconds(), frame);
    }

    std::vector<std::pair<int64_t, packets::Frame>> arrived;
};

/// A data packet of a connection that may be marked.
inline packets::Frame
Data(uint32_t bytes, uint32_t connection = 0)
{
    packets::Frame frame;
    frame.bytes = bytes;
    frame.connection = connection;
    frame.ect = true;
    return frame;
}

/// Do this at that time.
template <typename Do>
void
At(int64_t ns, Do what)
{
    ns3::Simulator::Schedule(ns3::NanoSeconds(ns) - ns3::Simulator::Now(), std::function<void()>(what));
}

#endif
