#include "scenario.h"

#include "host.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace packets
{

namespace
{

using nlohmann::json;

[[noreturn]] void
Refuse(const std::string& why)
{
    throw std::invalid_argument(why);
}

Port::Settings
ReadPort(const json& link)
{
    Port::Settings port;
    port.name = link.at("from").get<std::string>() + ">" + link.at("to").get<std::string>();
    port.rateBps = link.at("rate_bps");
    port.delayNs = link.at("delay_ns");
    port.queuePackets = link.at("queue_packets");
    port.markBytes = link.value("mark_bytes", 0u);
    if (const auto phantom = link.find("phantom"); phantom != link.end())
    {
        port.drainBps = phantom->at("drain_bps");
        port.phantomBytes = phantom->at("threshold_bytes");
    }
    if (!(port.rateBps > 0) || port.delayNs < 0)
    {
        Refuse("link " + port.name + " needs a rate above 0 and a delay of 0 or more");
    }
    return port;
}

Pacer::Settings
ReadPacer(const json& in)
{
    Pacer::Settings pacer;
    pacer.bucket.eta = in.at("eta");
    pacer.bucket.beta = in.at("beta");
    pacer.bucket.startBps = in.at("start_bps");
    pacer.bucket.depthBits = in.at("depth_bits");
    pacer.bucket.updateNs = in.at("update_ns");
    pacer.bucket.tickNs = in.at("tick_ns");
    pacer.associate = in.at("associate");
    pacer.associationNs = in.at("association_ns");
    pacer.queuePackets = in.at("queue_packets");
    pacer.behind = in.value("behind", false);
    if (pacer.bucket.updateNs <= 0 || pacer.bucket.tickNs <= 0)
    {
        Refuse("the pacer's update and tick must be longer than 0");
    }
    return pacer;
}

Scenario::Tcp
ReadTcp(const json& in)
{
    Scenario::Tcp tcp;
    tcp.variant = in.at("variant");
    tcp.segmentBytes = in.at("segment_bytes");
    tcp.windowSegments = in.at("window_segments");
    tcp.initialSegments = in.at("initial_segments");
    tcp.leastSegments = in.at("least_segments");
    tcp.minRtoNs = in.at("min_rto_ns");
    tcp.idleNs = in.at("idle_ns");
    tcp.g = in.at("g");
    tcp.startAlpha = in.at("start_alpha");
    tcp.sack = in.at("sack");
    tcp.wholeCuts = in.value("whole_cuts", false);
    tcp.prr = in.value("prr", false);
    tcp.growthAnew = in.value("growth_anew", false);
    if (tcp.variant != "reno" && tcp.variant != "dctcp")
    {
        Refuse("there is no TCP variant " + tcp.variant + "; there are reno and dctcp");
    }
    return tcp;
}

void
ReadExchanges(const json& in, Scenario& scenario)
{
    const auto connection = in.at("connection").get<std::vector<uint32_t>>();
    const auto start = in.at("start_ns").get<std::vector<int64_t>>();
    const auto request = in.at("request_bytes").get<std::vector<uint64_t>>();
    const auto reply = in.at("reply_bytes").get<std::vector<uint64_t>>();
    const auto service = in.at("service_ns").get<std::vector<int64_t>>();
    if (start.size() != connection.size() || request.size() != connection.size() ||
        reply.size() != connection.size() || service.size() != connection.size())
    {
        Refuse("the columns of the exchanges are not of one length");
    }
    for (size_t n = 0; n < start.size(); ++n)
    {
        if (connection[n] >= scenario.connections.size())
        {
            Refuse("exchange " + std::to_string(n) + " is of connection " + std::to_string(connection[n]) +
                   ", which there is not");
        }
        if (start[n] < (n ? start[n - 1] : 0) || request[n] == 0 || service[n] < 0)
        {
            Refuse("exchange " + std::to_string(n) +
                   " must start at or after the one before it, with a request above 0 bytes");
        }
        scenario.exchanges.push_back({connection[n], start[n], request[n], reply[n], service[n]});
    }
}

void
Check(const Scenario& scenario)
{
    std::set<std::string> hosts(scenario.hosts.begin(), scenario.hosts.end());
    std::set<std::string> nodes = hosts;
    nodes.insert(scenario.switches.begin(), scenario.switches.end());
    if (nodes.size() != scenario.hosts.size() + scenario.switches.size())
    {
        Refuse("two nodes have the same name");
    }
    if (scenario.jitterNs < 0)
    {
        Refuse("the jitter must be 0 or more");
    }
    std::set<std::string> links;
    std::set<std::string> wired;
    for (const auto& link : scenario.links)
    {
        for (const auto& end : {link.from, link.to})
        {
            if (!nodes.count(end))
            {
                Refuse("link " + link.port.name + " leads to " + end + ", which is no node of the scenario");
            }
        }
        if (!links.insert(link.port.name).second)
        {
            Refuse("there are two links " + link.port.name);
        }
        if (hosts.count(link.from) && !wired.insert(link.from).second)
        {
            Refuse("host " + link.from + " has two links; a host has one");
        }
    }
    if (scenario.connections.size() > Host::MOST_CONNECTIONS)
    {
        Refuse("more than " + std::to_string(Host::MOST_CONNECTIONS) + " connections");
    }
    for (const auto& connection : scenario.connections)
    {
        for (const auto& end : {connection.client, connection.server})
        {
            if (!hosts.count(end))
            {
                Refuse("a connection ends at " + end + ", which is no host of the scenario");
            }
        }
        if (connection.client == connection.server)
        {
            Refuse("a connection leads from " + connection.client + " to itself");
        }
    }
    for (const auto& sample : scenario.samples)
    {
        if (!links.count(sample.from + ">" + sample.to) || sample.everyNs <= 0)
        {
            Refuse("samples are wanted of link " + sample.from + ">" + sample.to + ", which there is not");
        }
    }
}

} // namespace

Scenario
ReadScenario(std::istream& in)
{
    try
    {
        const json root = json::parse(in);
        Scenario scenario;
        scenario.seed = root.at("seed");
        scenario.measureFromNs = root.at("measure_from_ns");
        scenario.measureUntilNs = root.at("measure_until_ns");
        scenario.endNs = root.at("end_ns");
        scenario.hosts = root.at("hosts").get<std::vector<std::string>>();
        scenario.switches = root.at("switches").get<std::vector<std::string>>();
        for (const auto& link : root.at("links"))
        {
            scenario.links.push_back({link.at("from"), link.at("to"), ReadPort(link)});
        }
        if (root.contains("pacer"))
        {
            scenario.pacer = ReadPacer(root.at("pacer"));
        }
        scenario.jitterNs = root.value("jitter_ns", int64_t{0});
        scenario.tcp = ReadTcp(root.at("tcp"));
        for (const auto& each : root.at("connections"))
        {
            scenario.connections.push_back(
                {each.at("client"),
                 each.at("server"),
                 each.value("path", std::vector<std::string>{})});
        }
        ReadExchanges(root.at("exchanges"), scenario);
        for (const auto& each : root.at("samples"))
        {
            scenario.samples.push_back({each.at("from"), each.at("to"), each.at("every_ns")});
        }
        if (root.contains("trace"))
        {
            const auto& trace = root.at("trace");
            scenario.trace = {trace.at("connection"), trace.at("from_ns"), trace.at("until_ns")};
        }
        Check(scenario);
        return scenario;
    }
    catch (const json::exception& error)
    {
        Refuse(std::string("the scenario does not read: ") + error.what());
    }
}

} // namespace packets
