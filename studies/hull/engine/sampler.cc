#include "sampler.h"

#include "ns3/simulator.h"

namespace packets
{

using ns3::NanoSeconds;
using ns3::Simulator;

Sampler::Sampler(const Port& port, int64_t everyNs, int64_t fromNs, int64_t untilNs)
    : m_port(port),
      m_everyNs(everyNs),
      m_untilNs(untilNs)
{
    Simulator::Schedule(NanoSeconds(fromNs - Simulator::Now().GetNanoSeconds()), &Sampler::Look, this);
}

void
Sampler::Look()
{
    const double area = m_port.WaitingArea();
    if (m_started)
    {
        m_mean.push_back((area - m_area) / static_cast<double>(m_everyNs));
        m_instant.push_back(m_port.WaitingBytes());
    }
    m_started = true;
    m_area = area;
    if (Simulator::Now().GetNanoSeconds() + m_everyNs <= m_untilNs)
    {
        Simulator::Schedule(NanoSeconds(m_everyNs), &Sampler::Look, this);
    }
}

} // namespace packets
