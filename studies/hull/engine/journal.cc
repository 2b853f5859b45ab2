#include "journal.h"

#include "ns3/simulator.h"
#include "ns3/tcp-header.h"

namespace packets
{

Journal::Journal(uint32_t connection, int64_t fromNs, int64_t untilNs)
    : m_connection(connection),
      m_fromNs(fromNs),
      m_untilNs(untilNs)
{
}

bool
Journal::Wanted(const Frame& frame) const
{
    const int64_t now = ns3::Simulator::Now().GetNanoSeconds();
    return frame.connection == m_connection && m_fromNs <= now && now < m_untilNs;
}

nlohmann::json&
Journal::Add(const Frame& frame, const std::string& where, const char* what)
{
    ns3::TcpHeader header;
    frame.packet->PeekHeader(header);
    m_entries.push_back({{"ns", ns3::Simulator::Now().GetNanoSeconds()},
                         {"where", where},
                         {"what", what},
                         {"seq", header.GetSequenceNumber().GetValue()},
                         {"ack", header.GetAckNumber().GetValue()},
                         {"forward", frame.forward},
                         {"bytes", frame.bytes},
                         {"ce", frame.ce},
                         {"ece", frame.ece}});
    return m_entries.back();
}

void
Journal::Sent(const Frame& frame, const std::string& host, uint32_t cwndBytes, double alpha)
{
    if (Wanted(frame))
    {
        auto& entry = Add(frame, host, "sent");
        entry["cwnd_bytes"] = cwndBytes;
        entry["alpha"] = alpha;
    }
}

void
Journal::Paced(const Frame& frame,
               const std::string& host,
               bool associated,
               bool queued,
               double rateBps,
               double tokensBits,
               double queueBits)
{
    if (Wanted(frame))
    {
        auto& entry = Add(frame, host, "paced");
        entry["associated"] = associated;
        entry["queued"] = queued;
        entry["rate_bps"] = rateBps;
        entry["tokens_bits"] = tokensBits;
        entry["queue_bits"] = queueBits;
    }
}

void
Journal::Released(const Frame& frame, const std::string& host, double rateBps, double tokensBits)
{
    if (Wanted(frame))
    {
        auto& entry = Add(frame, host, "released");
        entry["rate_bps"] = rateBps;
        entry["tokens_bits"] = tokensBits;
    }
}

void
Journal::Queued(const Frame& frame, const std::string& port, uint32_t waitingBytes, bool marked)
{
    if (Wanted(frame))
    {
        auto& entry = Add(frame, port, "queued");
        entry["waiting_bytes"] = waitingBytes;
        entry["marked"] = marked;
    }
}

void
Journal::Counted(const Frame& frame, const std::string& port, double phantomBytes, bool above)
{
    if (Wanted(frame))
    {
        auto& entry = Add(frame, port, "counted");
        entry["phantom_bytes"] = phantomBytes;
        entry["above"] = above;
    }
}

void
Journal::Received(const Frame& frame, const std::string& host)
{
    if (Wanted(frame))
    {
        Add(frame, host, "received");
    }
}

} // namespace packets
