#ifndef PACKETS_PACER_H
#define PACKETS_PACER_H

#include "frame.h"
#include "token-bucket.h"

#include "ns3/random-variable-stream.h"

#include <deque>
#include <string>
#include <vector>

namespace packets
{

class Journal;

/**
 * HULL's pacer at the edge of a host (section II.C of the report). Packets of flows that congest are held
 * back by a token bucket whose rate follows the host's own; all others pass.
 *
 * A flow is associated, that is paced, for a while after an echo of a mark; every echo draws a coin for it.
 */
class Pacer : public FrameSink
{
  public:
    /// Parameters; defaults from Table I and the authors' experiments.
    struct Settings
    {
        TokenBucket::Settings bucket;
        double associate{0.125};       //!< probability that an echo associates its flow
        int64_t associationNs{10'000'000}; //!< how long, from the last echo that did
        uint32_t queuePackets{500};    //!< what may wait; more is dropped
        bool behind{false};            //!< of the host's queue, as PacerBehindQueue
    };

    /// What happened, for results.
    struct Counters
    {
        uint64_t passedPackets{0};
        uint64_t pacedPackets{0};
        uint64_t droppedPackets{0};
    };

    /// A flow, by connection: how well the pacer chooses whom it paces.
    struct Flow
    {
        int64_t associatedUntilNs{-1};
        uint64_t packets{0};      //!< that came to the pacer
        uint64_t associations{0}; //!< those that began the time anew included
        uint64_t begun{0};        //!< of these, those of a flow that was not associated
    };

    /**
     * @param port what the pacer sends to
     * @param connections how many there are
     * @param stream of random numbers
     */
    Pacer(const Settings& settings, const std::string& host, FrameSink* port, size_t connections,
          int64_t stream);

    void Take(Frame frame) override;
    /// The host has received an ACK of this connection that echoes a mark.
    void Echo(uint32_t connection);

    bool Associated(uint32_t connection) const;
    virtual uint64_t WaitingPackets() const
    {
        return m_queue.size();
    }

    const TokenBucket& Bucket() const
    {
        return m_bucket;
    }

    const Counters& Count() const
    {
        return m_counters;
    }

    const std::vector<Flow>& Flows() const
    {
        return m_flows;
    }

    void Keep(Journal* journal)
    {
        m_journal = journal;
    }

  protected:
    /// A packet leaves the pacer.
    virtual void Release(Frame frame);
    /// A packet finds no room.
    void Drop()
    {
        m_counters.droppedPackets += 1;
    }

  private:
    void Wake();
    void PlanHead(int64_t nowNs);
    void SleepUntilNext(int64_t nowNs);

    Settings m_settings;
    std::string m_host;
    FrameSink* m_port;
    TokenBucket m_bucket;
    ns3::Ptr<ns3::UniformRandomVariable> m_coin;
    std::vector<Flow> m_flows;
    std::deque<Frame> m_queue;
    double m_queueBits{0};
    int64_t m_departNs{0};       //!< when the head is to leave, as things stand
    int64_t m_plannedUntilNs{0}; //!< the update of the rate until which that holds
    Counters m_counters;
    Journal* m_journal{nullptr};
};

} // namespace packets

#endif
