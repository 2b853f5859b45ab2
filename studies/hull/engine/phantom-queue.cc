#include "phantom-queue.h"

#include <algorithm>

namespace packets
{

PhantomQueue::PhantomQueue(double drainBps, double thresholdBytes)
    : m_bytesPerNs(drainBps / 8e9),
      m_threshold(thresholdBytes)
{
}

bool
PhantomQueue::Pass(int64_t nowNs, uint32_t bytes)
{
    m_bytes = std::max(0.0, m_bytes - m_bytesPerNs * static_cast<double>(nowNs - m_lastNs)) + bytes;
    m_lastNs = nowNs;
    return m_bytes > m_threshold;
}

} // namespace packets
