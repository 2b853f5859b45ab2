#include "network.h"

#include <deque>
#include <set>
#include <stdexcept>

namespace packets
{

namespace
{

/// Streams of random numbers from here on are of jitter; those of pacers, by host, are below.
constexpr int64_t JITTER_STREAMS = 1 << 20;

std::unique_ptr<Pacer>
MakePacer(const Pacer::Settings& settings,
          const std::string& host,
          Port& port,
          size_t connections,
          int64_t stream)
{
    if (settings.behind)
    {
        return std::make_unique<PacerBehindQueue>(settings, host, port, connections, stream);
    }
    return std::make_unique<Pacer>(settings, host, &port, connections, stream);
}

} // namespace

Network::Network(const Scenario& scenario, Journal* journal)
{
    for (const auto& name : scenario.hosts)
    {
        const auto index = static_cast<uint16_t>(m_index.size());
        m_index[name] = index;
        m_hosts[name] = std::make_unique<Host>(index,
                                               name,
                                               scenario.tcp.variant == "dctcp",
                                               scenario.connections.size());
        m_hosts[name]->Keep(journal);
    }
    for (const auto& name : scenario.switches)
    {
        m_switches[name] = std::make_unique<Switch>(scenario.hosts.size());
    }
    Wire(scenario, journal);
    Route(scenario);
    Pin(scenario);
}

void
Network::Wire(const Scenario& scenario, Journal* journal)
{
    for (const auto& link : scenario.links)
    {
        auto& port = m_ports[link.port.name];
        FrameSink* far = SinkOf(link.to);
        if (scenario.jitterNs > 0 && m_switches.count(link.to))
        {
            const auto stream = JITTER_STREAMS + static_cast<int64_t>(m_jitters.size());
            m_jitters.push_back(std::make_unique<Jitter>(scenario.jitterNs, far, stream));
            far = m_jitters.back().get();
        }
        port = std::make_unique<Port>(link.port, far);
        port->Keep(journal);
        if (const auto host = m_hosts.find(link.from); host != m_hosts.end())
        {
            FrameSink* sink = port.get();
            Pacer* pacer = nullptr;
            if (scenario.pacer)
            {
                auto& made = m_pacers[link.from];
                made = MakePacer(*scenario.pacer,
                                 link.from,
                                 *port,
                                 scenario.connections.size(),
                                 m_index.at(link.from));
                made->Keep(journal);
                sink = pacer = made.get();
            }
            host->second->SendTo(sink, pacer);
        }
    }
}

void
Network::Route(const Scenario& scenario)
{
    // Breadth first from every host, against the direction of the links: each switch learns its next hop.
    for (const auto& host : scenario.hosts)
    {
        std::set<std::string> known{host};
        std::deque<std::string> border{host};
        while (!border.empty())
        {
            const auto to = border.front();
            border.pop_front();
            for (const auto& link : scenario.links)
            {
                if (link.to != to || !known.insert(link.from).second)
                {
                    continue;
                }
                if (const auto found = m_switches.find(link.from); found != m_switches.end())
                {
                    found->second->Route(m_index.at(host), m_ports.at(link.port.name).get());
                    border.push_back(link.from); // hosts do not forward
                }
            }
        }
        for (const auto& connection : scenario.connections)
        {
            const bool ends = connection.client == host || connection.server == host;
            if (ends && (!known.count(connection.client) || !known.count(connection.server)))
            {
                throw std::invalid_argument("no way leads from " + connection.client + " to " +
                                            connection.server + " and back");
            }
        }
    }
}

void
Network::Pin(const Scenario& scenario)
{
    for (uint32_t n = 0; n < scenario.connections.size(); ++n)
    {
        const auto& connection = scenario.connections[n];
        if (connection.path.empty())
        {
            continue;
        }
        std::vector<std::string> way{connection.client};
        way.insert(way.end(), connection.path.begin(), connection.path.end());
        way.push_back(connection.server);
        for (size_t hop = 0; hop + 1 < way.size(); ++hop)
        {
            for (const bool forward : {true, false})
            {
                const auto& from = forward ? way[hop] : way[hop + 1];
                const auto& to = forward ? way[hop + 1] : way[hop];
                const auto port = m_ports.find(from + ">" + to);
                if (port == m_ports.end())
                {
                    throw std::invalid_argument("the path of connection " + std::to_string(n) +
                                                " needs a link " + from + ">" + to + ", which there is not");
                }
                if (const auto found = m_switches.find(from); found != m_switches.end())
                {
                    found->second->Pin(n, forward, port->second.get());
                }
            }
        }
    }
}

FrameSink*
Network::SinkOf(const std::string& name)
{
    if (const auto host = m_hosts.find(name); host != m_hosts.end())
    {
        return host->second.get();
    }
    return m_switches.at(name).get();
}

Host&
Network::HostOf(const std::string& name)
{
    return *m_hosts.at(name);
}

Port&
Network::PortOf(const std::string& from, const std::string& to)
{
    return *m_ports.at(from + ">" + to);
}

const Pacer*
Network::PacerOf(const std::string& host) const
{
    const auto found = m_pacers.find(host);
    return found == m_pacers.end() ? nullptr : found->second.get();
}

uint16_t
Network::IndexOf(const std::string& host) const
{
    return m_index.at(host);
}

} // namespace packets
