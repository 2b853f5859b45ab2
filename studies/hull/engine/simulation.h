#ifndef PACKETS_SIMULATION_H
#define PACKETS_SIMULATION_H

#include "connection.h"
#include "journal.h"
#include "network.h"
#include "sampler.h"
#include "scenario.h"

#include <nlohmann/json.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

namespace packets
{

/// One run of a scenario: builds it, runs it until all exchanges are done or time is up, and tells the result.
class Simulation
{
  public:
    /// @throws std::invalid_argument for a scenario that cannot be built
    explicit Simulation(const Scenario& scenario);
    ~Simulation();

    /// @param progress called once per simulated second, with the seconds so far
    void Run(const std::function<void(double)>& progress);

    /**
     * Write the result: one line of JSON, then the arrays it lists, binary, little-endian, one after another.
     * docs/hull.md describes the fields.
     */
    void Write(std::ostream& out) const;

  private:
    void Configure() const;
    void Connect();
    void Accepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from);
    void AskNext();
    void Finished(size_t exchange, int64_t nowNs);
    void Snapshot(bool first);
    void Tick();
    nlohmann::json PortsAsJson() const;
    nlohmann::json PacersAsJson() const;

    Scenario m_scenario;
    std::optional<Journal> m_journal;
    std::unique_ptr<Network> m_network;
    std::deque<Processor> m_processors; // by host
    std::deque<Connection> m_connections;
    std::vector<ns3::Ptr<Socket>> m_listening;
    std::deque<Sampler> m_samplers;
    std::vector<int64_t> m_finishedNs;
    size_t m_unfinished;
    size_t m_asked{0};
    std::vector<uint64_t> m_receivedFirst; //!< by clients and servers, in turn, at the window's start
    std::vector<uint64_t> m_received;      //!< and in the window
    std::vector<uint64_t> m_sentFirst;     //!< by ports, in their order by name
    std::vector<uint64_t> m_sent;
    std::function<void(double)> m_progress;
};

} // namespace packets

#endif
