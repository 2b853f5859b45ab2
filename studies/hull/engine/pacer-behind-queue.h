#ifndef PACKETS_PACER_BEHIND_QUEUE_H
#define PACKETS_PACER_BEHIND_QUEUE_H

#include "pacer.h"
#include "port.h"

namespace packets
{

/**
 * The pacer where the report's authors have it in ns-2: between the host's queue and its link.
 *
 * It takes one packet at a time, when the link is free. While it holds that one for its tokens the whole
 * queue stands still: packets of flows that are not paced wait as well, and Q of the rate's law is never
 * more than one packet. The report describes the other way, which is Pacer.
 */
class PacerBehindQueue : public Pacer
{
  public:
    /// As Pacer; @p port gives the link, and the length of the queue.
    PacerBehindQueue(const Settings& settings, const std::string& host, Port& port, size_t connections,
                     int64_t stream);

    void Take(Frame frame) override;
    uint64_t WaitingPackets() const override;

  protected:
    void Release(Frame frame) override;

  private:
    void Serve();

    Port& m_port;
    std::deque<Frame> m_waiting;
    bool m_busy{false}; //!< a packet is held, or on its way onto the link
};

} // namespace packets

#endif
