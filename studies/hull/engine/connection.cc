#include "connection.h"

#include "ns3/packet.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace packets
{

using namespace ns3;

namespace
{

int64_t
Now()
{
    return Simulator::Now().GetNanoSeconds();
}

uint64_t
Drain(Ptr<ns3::Socket> socket)
{
    uint64_t bytes = 0;
    while (const auto packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break;
        }
        bytes += packet->GetSize();
    }
    return bytes;
}

} // namespace

void
Processor::Do(int64_t workNs, std::function<void()> done)
{
    m_freeAtNs = std::max(m_freeAtNs, Now()) + workNs;
    Simulator::Schedule(NanoSeconds(m_freeAtNs - Now()), std::move(done));
}

void
Writer::Use(Ptr<Socket> socket, uint32_t segmentBytes)
{
    m_socket = socket;
    m_chunk = CHUNK_SEGMENTS * segmentBytes;
    socket->SetSendCallback(MakeCallback(&Writer::Fill, this));
}

void
Writer::Write(uint64_t bytes)
{
    m_pending += bytes;
    Fill(m_socket, m_socket->GetTxAvailable());
}

void
Writer::Fill(Ptr<ns3::Socket>, uint32_t free)
{
    while (m_pending > 0)
    {
        const auto chunk = static_cast<uint32_t>(std::min<uint64_t>(m_pending, m_chunk));
        if (free < chunk)
        {
            return;
        }
        m_pending -= chunk;
        m_socket->Send(Create<Packet>(chunk), 0);
        free = m_socket->GetTxAvailable();
    }
}

Connection::Connection(Processor& processor, uint32_t segmentBytes, Done done)
    : m_processor(processor),
      m_segmentBytes(segmentBytes),
      m_done(std::move(done))
{
}

void
Connection::ClientIs(Ptr<Socket> socket)
{
    m_client = socket;
    m_requests.Use(socket, m_segmentBytes);
    socket->SetRecvCallback(MakeCallback(&Connection::AtClient, this));
}

void
Connection::ServerIs(Ptr<Socket> socket)
{
    m_server = socket;
    m_replies.Use(socket, m_segmentBytes);
    socket->SetRecvCallback(MakeCallback(&Connection::AtServer, this));
}

bool
Connection::Established() const
{
    return m_client && m_server;
}

void
Connection::Ask(size_t number, const Scenario::Exchange& exchange)
{
    m_requestEnd += exchange.requestBytes;
    m_asked.push_back({number, exchange, m_requestEnd});
    m_requests.Write(exchange.requestBytes);
}

void
Connection::AtServer(Ptr<ns3::Socket> socket)
{
    m_serverReceived += Drain(socket);
    while (!m_asked.empty() && m_asked.front().end <= m_serverReceived)
    {
        const Open open = m_asked.front();
        m_asked.pop_front();
        if (open.exchange.serviceNs > 0)
        {
            m_processor.Do(open.exchange.serviceNs, [this, open] { Reply(open); });
        }
        else
        {
            Reply(open);
        }
    }
}

void
Connection::Reply(const Open& open)
{
    if (open.exchange.replyBytes == 0)
    {
        m_done(open.number, Now());
        return;
    }
    m_replyEnd += open.exchange.replyBytes;
    m_replied.push_back({open.number, open.exchange, m_replyEnd});
    m_replies.Write(open.exchange.replyBytes);
}

void
Connection::AtClient(Ptr<ns3::Socket> socket)
{
    m_clientReceived += Drain(socket);
    while (!m_replied.empty() && m_replied.front().end <= m_clientReceived)
    {
        m_done(m_replied.front().number, Now());
        m_replied.pop_front();
    }
}

uint64_t
Connection::Timeouts() const
{
    return m_client->Timeouts() + m_server->Timeouts();
}

} // namespace packets
