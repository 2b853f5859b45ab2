#include "simulation.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/inet-socket-address.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace packets
{

using namespace ns3;
using nlohmann::json;

namespace
{

/// Connections are made one after another, so that their handshakes do not meet.
constexpr int64_t BETWEEN_CONNECTS_NS = 100'000;

int64_t
Now()
{
    return Simulator::Now().GetNanoSeconds();
}

uint16_t
PortOf(const Address& address)
{
    return InetSocketAddress::ConvertFrom(address).GetPort();
}

} // namespace

Simulation::Simulation(const Scenario& scenario)
    : m_scenario(scenario),
      m_finishedNs(scenario.exchanges.size(), -1),
      m_unfinished(scenario.exchanges.size())
{
    if (m_scenario.trace)
    {
        m_journal.emplace(m_scenario.trace->connection, m_scenario.trace->fromNs, m_scenario.trace->untilNs);
    }
    Configure();
    m_network = std::make_unique<Network>(m_scenario, m_journal ? &*m_journal : nullptr);
    m_processors.resize(m_scenario.hosts.size());
    Connect();
    for (const auto& sample : m_scenario.samples)
    {
        m_samplers.emplace_back(m_network->PortOf(sample.from, sample.to),
                                sample.everyNs,
                                m_scenario.measureFromNs,
                                m_scenario.measureUntilNs);
    }
    Simulator::Schedule(NanoSeconds(m_scenario.measureFromNs), &Simulation::Snapshot, this, true);
    Simulator::Schedule(NanoSeconds(m_scenario.measureUntilNs), &Simulation::Snapshot, this, false);
    if (!m_scenario.exchanges.empty())
    {
        Simulator::Schedule(NanoSeconds(m_scenario.exchanges.front().startNs), &Simulation::AskNext, this);
    }
}

Simulation::~Simulation()
{
    Simulator::Destroy();
}

void
Simulation::Configure() const
{
    const auto& tcp = m_scenario.tcp;
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(m_scenario.seed);
    const uint32_t window = tcp.windowSegments * tcp.segmentBytes;
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(tcp.segmentBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    // Room for two windows, and for the next chunks of a Writer well before the last is sent.
    const uint32_t buffer = std::max(2 * window, 4 * Writer::CHUNK_SEGMENTS * tcp.segmentBytes);
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(tcp.initialSegments));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1)); // one ACK per segment
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(NanoSeconds(tcp.minRtoNs)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false)); // headers of 40 bytes
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(tcp.sack));
    Config::SetDefault("packets::Reno::MostSegments", UintegerValue(tcp.windowSegments));
    Config::SetDefault("packets::Dctcp::MostSegments", UintegerValue(tcp.windowSegments));
    Config::SetDefault("packets::Reno::Idle", TimeValue(NanoSeconds(tcp.idleNs)));
    Config::SetDefault("packets::Dctcp::Idle", TimeValue(NanoSeconds(tcp.idleNs)));
    Config::SetDefault("packets::Dctcp::LeastSegments", UintegerValue(tcp.leastSegments));
    Config::SetDefault("packets::Dctcp::WholeCuts", BooleanValue(tcp.wholeCuts));
    Config::SetDefault("packets::Dctcp::GrowthAnew", BooleanValue(tcp.growthAnew));
    Config::SetDefault("ns3::TcpDctcp::DctcpShiftG", DoubleValue(tcp.g));
    Config::SetDefault("ns3::TcpDctcp::DctcpAlphaOnInit", DoubleValue(tcp.startAlpha));
}

void
Simulation::Connect()
{
    const auto variant =
        TypeId::LookupByName(m_scenario.tcp.variant == "dctcp" ? "packets::Dctcp" : "packets::Reno");
    std::set<std::string> listening;
    int64_t atNs = 0;
    for (uint32_t n = 0; n < m_scenario.connections.size(); ++n)
    {
        const auto& wanted = m_scenario.connections[n];
        auto& client = m_network->HostOf(wanted.client);
        auto& server = m_network->HostOf(wanted.server);
        const auto serverIndex = m_network->IndexOf(wanted.server);
        auto& connection = m_connections.emplace_back(m_processors[serverIndex],
                                                      m_scenario.tcp.segmentBytes,
                                                      [this](size_t exchange, int64_t nowNs) {
                                                          Finished(exchange, nowNs);
                                                      });
        if (listening.insert(wanted.server).second)
        {
            auto socket = Socket::Create(server.Node(), variant, m_scenario.tcp.prr);
            socket->Bind(InetSocketAddress(Host::AddressOf(serverIndex), Host::SERVER_PORT));
            socket->Listen();
            socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<ns3::Socket>, const Address&>(),
                                      MakeCallback(&Simulation::Accepted, this));
            m_listening.push_back(socket);
        }
        auto socket = Socket::Create(client.Node(), variant, m_scenario.tcp.prr);
        socket->Bind(InetSocketAddress(Host::AddressOf(m_network->IndexOf(wanted.client)),
                                       static_cast<uint16_t>(Host::FIRST_PORT + n)));
        connection.ClientIs(socket);
        client.Own(n, socket);
        Simulator::Schedule(NanoSeconds(atNs), [socket, serverIndex] {
            socket->Connect(InetSocketAddress(Host::AddressOf(serverIndex), Host::SERVER_PORT));
        });
        atNs += BETWEEN_CONNECTS_NS;
    }
    if (!m_scenario.exchanges.empty() && m_scenario.exchanges.front().startNs < atNs + 1'000'000)
    {
        throw std::invalid_argument("the first exchange must not start before " +
                                    std::to_string(atNs + 1'000'000) + " ns, when all connections are made");
    }
}

void
Simulation::Accepted(Ptr<ns3::Socket> socket, const Address& from)
{
    const uint32_t n = PortOf(from) - Host::FIRST_PORT;
    const auto made = DynamicCast<Socket>(socket);
    m_connections[n].ServerIs(made);
    m_network->HostOf(m_scenario.connections[n].server).Own(n, made);
}

void
Simulation::AskNext()
{
    const auto now = Now();
    while (m_asked < m_scenario.exchanges.size() && m_scenario.exchanges[m_asked].startNs <= now)
    {
        const auto& exchange = m_scenario.exchanges[m_asked];
        auto& connection = m_connections[exchange.connection];
        if (!connection.Established())
        {
            throw std::runtime_error("connection " + std::to_string(exchange.connection) + " was not made");
        }
        connection.Ask(m_asked, exchange);
        m_asked += 1;
    }
    if (m_asked < m_scenario.exchanges.size())
    {
        Simulator::Schedule(NanoSeconds(m_scenario.exchanges[m_asked].startNs - now),
                            &Simulation::AskNext,
                            this);
    }
}

void
Simulation::Finished(size_t exchange, int64_t nowNs)
{
    m_finishedNs[exchange] = nowNs;
    m_unfinished -= 1;
    if (m_unfinished == 0 && nowNs > m_scenario.measureUntilNs)
    {
        Simulator::Stop();
    }
}

void
Simulation::Snapshot(bool first)
{
    auto& received = first ? m_receivedFirst : m_received;
    auto& sent = first ? m_sentFirst : m_sent;
    for (const auto& connection : m_connections)
    {
        received.push_back(connection.ClientReceived());
        received.push_back(connection.ServerReceived());
    }
    for (const auto& [name, port] : m_network->Ports())
    {
        sent.push_back(port->Count().sentBytes);
    }
    if (!first)
    {
        std::transform(m_received.begin(), m_received.end(), m_receivedFirst.begin(), m_received.begin(),
                       std::minus<>());
        std::transform(m_sent.begin(), m_sent.end(), m_sentFirst.begin(), m_sent.begin(), std::minus<>());
        if (m_unfinished == 0)
        {
            Simulator::Stop();
        }
    }
}

void
Simulation::Tick()
{
    m_progress(Simulator::Now().GetSeconds());
    Simulator::Schedule(Seconds(1), &Simulation::Tick, this);
}

void
Simulation::Run(const std::function<void(double)>& progress)
{
    m_progress = progress;
    Simulator::Schedule(Seconds(1), &Simulation::Tick, this);
    Simulator::Stop(NanoSeconds(m_scenario.endNs));
    Simulator::Run();
}

json
Simulation::PortsAsJson() const
{
    json ports = json::array();
    size_t n = 0;
    for (const auto& [name, port] : m_network->Ports())
    {
        const auto& count = port->Count();
        ports.push_back({{"link", name},
                         {"arrived_packets", count.arrivedPackets},
                         {"arrived_bytes", count.arrivedBytes},
                         {"sent_packets", count.sentPackets},
                         {"sent_bytes", count.sentBytes},
                         {"sent_bytes_in_window", m_sent.empty() ? 0 : m_sent[n]},
                         {"dropped_packets", count.droppedPackets},
                         {"dropped_bytes", count.droppedBytes},
                         {"marked_packets", count.markedPackets},
                         {"waiting_bytes", port->WaitingBytes()},
                         {"on_the_wire_packets", port->OnTheWirePackets()},
                         {"most_waiting_bytes", count.mostWaitingBytes}});
        n += 1;
    }
    return ports;
}

json
Simulation::PacersAsJson() const
{
    json pacers = json::array();
    for (const auto& host : m_scenario.hosts)
    {
        if (const auto* pacer = m_network->PacerOf(host))
        {
            json flows = json::array();
            for (size_t n = 0; n < pacer->Flows().size(); ++n)
            {
                if (const auto& flow = pacer->Flows()[n]; flow.packets > 0)
                {
                    flows.push_back({{"connection", n},
                                     {"packets", flow.packets},
                                     {"associations", flow.associations},
                                     {"begun", flow.begun},
                                     {"associated", pacer->Associated(n)}});
                }
            }
            pacers.push_back({{"host", host},
                              {"passed_packets", pacer->Count().passedPackets},
                              {"paced_packets", pacer->Count().pacedPackets},
                              {"dropped_packets", pacer->Count().droppedPackets},
                              {"flows", flows},
                              {"waiting_packets", pacer->WaitingPackets()},
                              {"rate_bps", pacer->Bucket().Rate()}});
        }
    }
    return pacers;
}

void
Simulation::Write(std::ostream& out) const
{
    json arrays = json::array();
    std::string data;
    const auto add = [&](const std::string& name, const char* type, const auto& values) {
        arrays.push_back({{"name", name}, {"type", type}, {"count", values.size()}});
        data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
    };
    add("finished_ns", "<i8", m_finishedNs);
    std::vector<uint64_t> atClients;
    std::vector<uint64_t> atServers;
    for (size_t n = 0; n < m_received.size(); n += 2)
    {
        atClients.push_back(m_received[n]);
        atServers.push_back(m_received[n + 1]);
    }
    add("client_received_bytes", "<u8", atClients);
    add("server_received_bytes", "<u8", atServers);
    for (size_t n = 0; n < m_samplers.size(); ++n)
    {
        const auto& sample = m_scenario.samples[n];
        const auto link = sample.from + ">" + sample.to;
        add("mean_waiting_bytes " + link, "<f8", m_samplers[n].MeanBytes());
        add("waiting_bytes " + link, "<f8", m_samplers[n].InstantBytes());
    }
    uint64_t timeouts = 0;
    for (const auto& connection : m_connections)
    {
        timeouts += connection.Timeouts();
    }
    json head = {{"simulated_s", Simulator::Now().GetSeconds()},
                 {"events", Simulator::GetEventCount()},
                 {"unfinished", m_unfinished},
                 {"timeouts", timeouts},
                 {"ports", PortsAsJson()},
                 {"pacers", PacersAsJson()},
                 {"arrays", arrays}};
    if (m_journal)
    {
        head["journal"] = m_journal->Entries();
    }
    out << head.dump() << '\n' << data;
}

} // namespace packets
