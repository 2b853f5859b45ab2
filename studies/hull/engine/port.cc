#include "port.h"

#include "journal.h"

#include "ns3/make-event.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace packets
{

Port::Port(const Settings& settings, FrameSink* far)
    : m_settings(settings),
      m_far(far),
      m_next(ns3::MakeEvent(&Port::Next, this), false),
      m_deliver(ns3::MakeEvent(&Port::Deliver, this), false),
      m_nsPerByte(8e9 / settings.rateBps)
{
    if (settings.drainBps > 0)
    {
        m_phantom.emplace(settings.drainBps, settings.phantomBytes);
    }
}

void
Port::Take(Frame frame)
{
    const int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    m_counters.arrivedPackets += 1;
    m_counters.arrivedBytes += frame.bytes;
    if (m_queue.empty() && now >= m_freeAtNs)
    {
        Transmit(std::move(frame), now);
        return;
    }
    if (m_queue.size() >= m_settings.queuePackets)
    {
        m_counters.droppedPackets += 1;
        m_counters.droppedBytes += frame.bytes;
        return;
    }
    if (m_settings.markBytes > 0 && frame.ect && !frame.ce && m_waitingBytes > m_settings.markBytes)
    {
        frame.ce = true;
        m_counters.markedPackets += 1;
    }
    if (m_journal)
    {
        m_journal->Queued(frame, m_settings.name, m_waitingBytes, frame.ce);
    }
    if (m_queue.empty())
    {
        ns3::Simulator::Schedule(ns3::NanoSeconds(m_freeAtNs - now), m_next);
    }
    WaitingChanges(now, frame.bytes);
    m_queue.push_back(std::move(frame));
}

void
Port::Next()
{
    const int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    Frame frame = std::move(m_queue.front());
    m_queue.pop_front();
    WaitingChanges(now, -static_cast<int64_t>(frame.bytes));
    Transmit(std::move(frame), now);
    if (!m_queue.empty())
    {
        ns3::Simulator::Schedule(ns3::NanoSeconds(m_freeAtNs - now), m_next);
    }
}

void
Port::Transmit(Frame frame, int64_t nowNs)
{
    if (m_phantom)
    {
        const bool above = m_phantom->Pass(nowNs, frame.bytes);
        if (above && frame.ect && !frame.ce)
        {
            frame.ce = true;
            m_counters.markedPackets += 1;
        }
        if (m_journal)
        {
            m_journal->Counted(frame, m_settings.name, m_phantom->Bytes(), above);
        }
    }
    m_counters.sentPackets += 1;
    m_counters.sentBytes += frame.bytes;
    m_freeAtNs = nowNs + std::llround(frame.bytes * m_nsPerByte);
    ns3::Simulator::Schedule(ns3::NanoSeconds(m_freeAtNs - nowNs + m_settings.delayNs), m_deliver);
    m_wire.push_back(std::move(frame));
}

void
Port::Deliver()
{
    Frame frame = std::move(m_wire.front()); // every frame takes as long on the wire: the first one sent
    m_wire.pop_front();
    m_far->Take(std::move(frame));
}

void
Port::WaitingChanges(int64_t nowNs, int64_t bytes)
{
    m_waitingArea += m_waitingBytes * static_cast<double>(nowNs - m_areaUntilNs);
    m_areaUntilNs = nowNs;
    m_waitingBytes = static_cast<uint32_t>(m_waitingBytes + bytes);
    m_counters.mostWaitingBytes = std::max(m_counters.mostWaitingBytes, m_waitingBytes);
}

double
Port::WaitingArea() const
{
    const int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    m_waitingArea += m_waitingBytes * static_cast<double>(now - m_areaUntilNs);
    m_areaUntilNs = now;
    return m_waitingArea;
}

} // namespace packets
