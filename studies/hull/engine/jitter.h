#ifndef PACKETS_JITTER_H
#define PACKETS_JITTER_H

#include "frame.h"

#include "ns3/random-variable-stream.h"

namespace packets
{

/**
 * The time a switch takes for a packet before it queues, drawn anew for each: uniform from 0 to a bound, in
 * order on every link.
 *
 * Without any a network of drop-tail queues is a clockwork, in which one flow's packets can meet the full
 * queue for ever while another's never do (Floyd and Jacobson, "On traffic phase effects in packet-switched
 * gateways", 1992). At the sender it would not do: a flow that has filled its host's queue leaves it evenly.
 */
class Jitter : public FrameSink
{
  public:
    /**
     * @param mostNs the bound
     * @param next where packets go
     * @param stream of random numbers
     */
    Jitter(int64_t mostNs, FrameSink* next, int64_t stream);

    void Take(Frame frame) override;

  private:
    double m_mostNs;
    FrameSink* m_next;
    ns3::Ptr<ns3::UniformRandomVariable> m_random;
    int64_t m_lastNs{0}; //!< when the packet before leaves
};

} // namespace packets

#endif
