#ifndef PACKETS_PHANTOM_QUEUE_H
#define PACKETS_PHANTOM_QUEUE_H

#include <cstdint>

namespace packets
{

/**
 * The phantom queue of HULL: a counter in series with a port, which drains a little slower than the link.
 *
 * For every packet that leaves the port: drain what time has passed, add the packet, and mark it when the
 * counter stands above the threshold (section II.A of the report). No packet waits here.
 */
class PhantomQueue
{
  public:
    /**
     * @param drainBps drain rate, bit/s
     * @param thresholdBytes a packet that lifts the counter above this is marked
     */
    PhantomQueue(double drainBps, double thresholdBytes);

    /**
     * A packet leaves the port.
     * @param nowNs when; never before the packet before it
     * @param bytes its size on the wire
     * @return whether it is to be marked
     */
    bool Pass(int64_t nowNs, uint32_t bytes);

    /// The counter after the last packet, bytes.
    double Bytes() const
    {
        return m_bytes;
    }

  private:
    double m_bytesPerNs;
    double m_threshold;
    double m_bytes{0};
    int64_t m_lastNs{0};
};

} // namespace packets

#endif
