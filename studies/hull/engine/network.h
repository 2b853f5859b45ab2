#ifndef PACKETS_NETWORK_H
#define PACKETS_NETWORK_H

#include "host.h"
#include "jitter.h"
#include "journal.h"
#include "pacer-behind-queue.h"
#include "port.h"
#include "scenario.h"
#include "switch.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace packets
{

/// Hosts, switches, ports and pacers of a scenario, wired, with the ways through them.
class Network
{
  public:
    /// @throws std::invalid_argument for a scenario in which a host is cut off, or a pinned path does not exist
    Network(const Scenario& scenario, Journal* journal);

    Host& HostOf(const std::string& name);
    Port& PortOf(const std::string& from, const std::string& to);
    /// The pacer of a host, or null.
    const Pacer* PacerOf(const std::string& host) const;
    uint16_t IndexOf(const std::string& host) const;

    const std::map<std::string, std::unique_ptr<Port>>& Ports() const
    {
        return m_ports;
    }

  private:
    void Wire(const Scenario& scenario, Journal* journal);
    void Route(const Scenario& scenario);
    void Pin(const Scenario& scenario);
    FrameSink* SinkOf(const std::string& name);

    std::map<std::string, uint16_t> m_index;
    std::map<std::string, std::unique_ptr<Host>> m_hosts;
    std::map<std::string, std::unique_ptr<Switch>> m_switches;
    std::map<std::string, std::unique_ptr<Port>> m_ports; //!< by "from>to"
    std::map<std::string, std::unique_ptr<Pacer>> m_pacers;
    std::vector<std::unique_ptr<Jitter>> m_jitters;
};

} // namespace packets

#endif
