#include "switch.h"

namespace packets
{

Switch::Switch(size_t hosts)
    : m_routes(hosts, nullptr)
{
}

void
Switch::Take(Frame frame)
{
    FrameSink* port = m_routes[frame.to];
    if (!m_pins.empty())
    {
        const auto pin = m_pins.find({frame.connection, frame.forward});
        port = pin == m_pins.end() ? port : pin->second;
    }
    port->Take(std::move(frame));
}

void
Switch::Route(uint16_t host, FrameSink* port)
{
    m_routes[host] = port;
}

void
Switch::Pin(uint32_t connection, bool forward, FrameSink* port)
{
    m_pins[{connection, forward}] = port;
}

} // namespace packets
