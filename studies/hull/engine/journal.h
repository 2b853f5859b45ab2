#ifndef PACKETS_JOURNAL_H
#define PACKETS_JOURNAL_H

#include "frame.h"

#include <nlohmann/json.hpp>

#include <string>

namespace packets
{

/**
 * Writes down, step by step, what happens to the packets of one connection during a short time: for the
 * tour of one packet in docs/hull.md, and for finding faults.
 */
class Journal
{
  public:
    /// @param connection whose packets; @param fromNs, @param untilNs during which time
    Journal(uint32_t connection, int64_t fromNs, int64_t untilNs);

    /// TCP hands a packet to its host's pacer or port.
    void Sent(const Frame& frame, const std::string& host, uint32_t cwndBytes, double alpha);
    /// The pacer decides: let pass at once, or queue (@p queued), at this rate and these tokens.
    void Paced(const Frame& frame, const std::string& host, bool associated, bool queued, double rateBps,
               double tokensBits, double queueBits);
    /// The pacer lets a queued packet go.
    void Released(const Frame& frame, const std::string& host, double rateBps, double tokensBits);
    /// A port's queue takes the packet, behind this many bytes.
    void Queued(const Frame& frame, const std::string& port, uint32_t waitingBytes, bool marked);
    /// A phantom queue counts the packet.
    void Counted(const Frame& frame, const std::string& port, double phantomBytes, bool above);
    /// A host receives the packet.
    void Received(const Frame& frame, const std::string& host);

    const nlohmann::json& Entries() const
    {
        return m_entries;
    }

  private:
    bool Wanted(const Frame& frame) const;
    nlohmann::json& Add(const Frame& frame, const std::string& where, const char* what);

    uint32_t m_connection;
    int64_t m_fromNs;
    int64_t m_untilNs;
    nlohmann::json m_entries = nlohmann::json::array();
};

} // namespace packets

#endif
