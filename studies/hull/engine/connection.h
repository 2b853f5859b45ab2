#ifndef PACKETS_CONNECTION_H
#define PACKETS_CONNECTION_H

#include "scenario.h"
#include "socket.h"

#include <cstdint>
#include <deque>
#include <functional>

namespace packets
{

/// The work of a server's one processor: pieces of it one after another, first come first served.
class Processor
{
  public:
    /// Do work of this length after all that was given before, then call @p done.
    void Do(int64_t workNs, std::function<void()> done);

  private:
    int64_t m_freeAtNs{0};
};

/// One direction of a connection: counts what was written, and writes it as the socket takes it.
class Writer
{
  public:
    /// So many segments are handed to a socket at once: TCP cuts them out of one packet.
    static constexpr uint32_t CHUNK_SEGMENTS = 512;

    void Use(ns3::Ptr<Socket> socket, uint32_t segmentBytes);
    /// Send so many bytes more.
    void Write(uint64_t bytes);

  private:
    void Fill(ns3::Ptr<ns3::Socket> socket, uint32_t free);

    ns3::Ptr<Socket> m_socket;
    uint64_t m_pending{0};
    uint32_t m_chunk{0};
};

/**
 * A persistent connection: requests from its client, replies from its server, in order. Requests queue behind
 * each other, and so do replies.
 */
class Connection
{
  public:
    /// Called with the number of the exchange and when it was done.
    using Done = std::function<void(size_t exchange, int64_t nowNs)>;

    Connection(Processor& processor, uint32_t segmentBytes, Done done);

    void ClientIs(ns3::Ptr<Socket> socket);
    void ServerIs(ns3::Ptr<Socket> socket);
    bool Established() const;
    /// The client asks.
    void Ask(size_t number, const Scenario::Exchange& exchange);

    /// Payload that arrived at the client, and at the server, bytes.
    uint64_t ClientReceived() const
    {
        return m_clientReceived;
    }

    uint64_t ServerReceived() const
    {
        return m_serverReceived;
    }

    uint64_t Timeouts() const;

  private:
    struct Open
    {
        size_t number;
        Scenario::Exchange exchange;
        uint64_t end; //!< the stream's length when it is through
    };

    void AtServer(ns3::Ptr<ns3::Socket> socket);
    void AtClient(ns3::Ptr<ns3::Socket> socket);
    void Reply(const Open& open);

    Processor& m_processor;
    uint32_t m_segmentBytes;
    Done m_done;
    ns3::Ptr<Socket> m_client;
    ns3::Ptr<Socket> m_server;
    Writer m_requests;
    Writer m_replies;
    std::deque<Open> m_asked;
    std::deque<Open> m_replied;
    uint64_t m_requestEnd{0};
    uint64_t m_replyEnd{0};
    uint64_t m_serverReceived{0};
    uint64_t m_clientReceived{0};
};

} // namespace packets

#endif
