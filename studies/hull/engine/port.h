#ifndef PACKETS_PORT_H
#define PACKETS_PORT_H

#include "frame.h"
#include "phantom-queue.h"

#include "ns3/event-impl.h"

#include <deque>
#include <optional>
#include <string>

namespace packets
{

class Journal;

/**
 * The sending end of a link: a drop-tail queue that may mark (DCTCP's K), a phantom queue behind it, the
 * transmitter, and the wire. Two events per packet at most, one when the queue is empty.
 */
class Port : public FrameSink
{
  public:
    /// What a port is made of.
    struct Settings
    {
        std::string name;
        double rateBps{1e9};
        int64_t delayNs{5000};      //!< propagation
        uint32_t queuePackets{500}; //!< what may wait, besides the packet on the wire
        uint32_t markBytes{0};      //!< K: mark arrivals when more than this waits; 0: never
        double drainBps{0};         //!< of the phantom queue; 0: there is none
        double phantomBytes{0};     //!< its threshold
    };

    /// What passed, for conservation and for results.
    struct Counters
    {
        uint64_t arrivedPackets{0};
        uint64_t arrivedBytes{0};
        uint64_t sentPackets{0};
        uint64_t sentBytes{0};
        uint64_t droppedPackets{0};
        uint64_t droppedBytes{0};
        uint64_t markedPackets{0};
        uint32_t mostWaitingBytes{0};
    };

    Port(const Settings& settings, FrameSink* far);

    void Take(Frame frame) override;

    /// Bytes that wait now, without the packet that is being sent.
    uint32_t WaitingBytes() const
    {
        return m_waitingBytes;
    }

    /// When the packet that is being sent has left, ns; in the past when none is.
    int64_t FreeAtNs() const
    {
        return m_freeAtNs;
    }

    /// The integral of WaitingBytes() over time since the start, byte nanoseconds.
    double WaitingArea() const;

    /// Packets and bytes that are on the wire: transmitted, or being so, and not yet delivered.
    uint64_t OnTheWirePackets() const
    {
        return m_wire.size();
    }

    const Counters& Count() const
    {
        return m_counters;
    }

    const Settings& Of() const
    {
        return m_settings;
    }

    /// Tell this journal what happens here; null for none.
    void Keep(Journal* journal)
    {
        m_journal = journal;
    }

  private:
    void Transmit(Frame frame, int64_t nowNs);
    void Next();
    void Deliver();
    void WaitingChanges(int64_t nowNs, int64_t bytes);

    Settings m_settings;
    FrameSink* m_far;
    std::optional<PhantomQueue> m_phantom;
    std::deque<Frame> m_queue;
    std::deque<Frame> m_wire;
    ns3::Ptr<ns3::EventImpl> m_next;    //!< made once and scheduled again and again
    ns3::Ptr<ns3::EventImpl> m_deliver; //!< the same
    double m_nsPerByte;
    int64_t m_freeAtNs{0};
    uint32_t m_waitingBytes{0};
    mutable double m_waitingArea{0};
    mutable int64_t m_areaUntilNs{0};
    Counters m_counters;
    Journal* m_journal{nullptr};
};

} // namespace packets

#endif
