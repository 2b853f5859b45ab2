#include "pacer-behind-queue.h"

#include "ns3/simulator.h"

namespace packets
{

PacerBehindQueue::PacerBehindQueue(const Settings& settings,
                                   const std::string& host,
                                   Port& port,
                                   size_t connections,
                                   int64_t stream)
    : Pacer(settings, host, &port, connections, stream),
      m_port(port)
{
}

void
PacerBehindQueue::Take(Frame frame)
{
    if (m_waiting.size() >= m_port.Of().queuePackets)
    {
        Drop();
        return;
    }
    m_waiting.push_back(std::move(frame));
    Serve();
}

uint64_t
PacerBehindQueue::WaitingPackets() const
{
    return Pacer::WaitingPackets() + m_waiting.size();
}

void
PacerBehindQueue::Serve()
{
    if (m_busy || m_waiting.empty())
    {
        return;
    }
    m_busy = true;
    Frame frame = std::move(m_waiting.front());
    m_waiting.pop_front();
    Pacer::Take(std::move(frame)); // now or later it is released
}

void
PacerBehindQueue::Release(Frame frame)
{
    Pacer::Release(std::move(frame));
    const auto free = ns3::NanoSeconds(m_port.FreeAtNs()) - ns3::Simulator::Now();
    ns3::Simulator::Schedule(free, [this] {
        m_busy = false;
        Serve();
    });
}

} // namespace packets
