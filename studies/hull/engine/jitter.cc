#include "jitter.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace packets
{

Jitter::Jitter(int64_t mostNs, FrameSink* next, int64_t stream)
    : m_mostNs(static_cast<double>(mostNs)),
      m_next(next),
      m_random(ns3::CreateObject<ns3::UniformRandomVariable>())
{
    m_random->SetStream(stream);
}

void
Jitter::Take(Frame frame)
{
    const int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    m_lastNs = std::max(m_lastNs, now + static_cast<int64_t>(m_random->GetValue() * m_mostNs));
    ns3::Simulator::Schedule(ns3::NanoSeconds(m_lastNs - now), [this, frame = std::move(frame)] {
        m_next->Take(frame);
    });
}

} // namespace packets
