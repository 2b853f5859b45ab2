#include "pacer.h"

#include "journal.h"

#include "ns3/double.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace packets
{

Pacer::Pacer(const Settings& settings,
             const std::string& host,
             FrameSink* port,
             size_t connections,
             int64_t stream)
    : m_settings(settings),
      m_host(host),
      m_port(port),
      m_bucket(settings.bucket, ns3::Simulator::Now().GetNanoSeconds()),
      m_coin(ns3::CreateObject<ns3::UniformRandomVariable>()),
      m_flows(connections)
{
    m_coin->SetStream(stream);
}

bool
Pacer::Associated(uint32_t connection) const
{
    return m_flows[connection].associatedUntilNs > ns3::Simulator::Now().GetNanoSeconds();
}

void
Pacer::Echo(uint32_t connection)
{
    if (m_coin->GetValue() < m_settings.associate)
    {
        Flow& flow = m_flows[connection];
        flow.associations += 1;
        flow.begun += Associated(connection) ? 0 : 1;
        flow.associatedUntilNs = ns3::Simulator::Now().GetNanoSeconds() + m_settings.associationNs;
    }
}

void
Pacer::Take(Frame frame)
{
    const int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    const double bits = 8.0 * frame.bytes;
    m_bucket.Advance(now, m_queueBits);
    m_bucket.Count(bits);
    m_flows[frame.connection].packets += 1;
    const bool associated = Associated(frame.connection);
    const bool held = associated && (!m_queue.empty() || m_bucket.Tokens() < bits);
    if (m_journal)
    {
        m_journal->Paced(frame, m_host, associated, held, m_bucket.Rate(), m_bucket.Tokens(), m_queueBits);
    }
    if (!held)
    {
        // Also packets of a flow that is no longer associated, past those of it that still wait.
        if (associated)
        {
            m_bucket.Spend(bits);
        }
        m_counters.passedPackets += 1;
        Release(std::move(frame));
        return;
    }
    if (m_queue.size() >= m_settings.queuePackets)
    {
        Drop();
        return;
    }
    m_counters.pacedPackets += 1;
    m_queue.push_back(std::move(frame));
    m_queueBits += bits;
    if (m_queue.size() == 1)
    {
        PlanHead(now);
        SleepUntilNext(now);
    }
}

void
Pacer::Release(Frame frame)
{
    m_port->Take(std::move(frame));
}

void
Pacer::PlanHead(int64_t nowNs)
{
    m_plannedUntilNs = m_bucket.NextUpdateNs();
    const double lacking = 8.0 * m_queue.front().bytes - m_bucket.Tokens();
    const double wait = std::max(0.0, std::ceil(lacking / m_bucket.Rate() * 1e9));
    m_departNs = wait < 1e15 ? nowNs + static_cast<int64_t>(wait) : INT64_MAX; // a rate near 0: not yet
}

void
Pacer::SleepUntilNext(int64_t nowNs)
{
    // A pacer without a floor of its rate would sleep for ever: every update of the rate plans anew.
    const int64_t until = std::min(m_departNs, m_bucket.NextUpdateNs());
    ns3::Simulator::Schedule(ns3::NanoSeconds(until - nowNs), &Pacer::Wake, this);
}

void
Pacer::Wake()
{
    const int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    m_bucket.Advance(now, m_queueBits);
    if (m_bucket.NextUpdateNs() != m_plannedUntilNs)
    {
        PlanHead(now);
    }
    while (!m_queue.empty() && m_departNs <= now)
    {
        Frame frame = std::move(m_queue.front());
        m_queue.pop_front();
        m_bucket.Spend(8.0 * frame.bytes);
        m_queueBits -= 8.0 * frame.bytes;
        if (m_journal)
        {
            m_journal->Released(frame, m_host, m_bucket.Rate(), m_bucket.Tokens());
        }
        Release(std::move(frame));
        if (!m_queue.empty())
        {
            PlanHead(now);
        }
    }
    if (!m_queue.empty())
    {
        SleepUntilNext(now);
    }
}

} // namespace packets
