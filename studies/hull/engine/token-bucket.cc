#include "token-bucket.h"

#include <algorithm>

namespace packets
{

namespace
{
/// After so many updates without traffic a rate is 10^-23 of what it was: the rest of a silence is skipped.
constexpr int64_t SILENT_UPDATES = 400;
} // namespace

TokenBucket::TokenBucket(const Settings& settings, int64_t startNs)
    : m_settings(settings),
      m_rate(settings.startBps),
      m_tokens(settings.depthBits),
      m_nextUpdateNs(startNs + settings.updateNs),
      m_nextTickNs(startNs + settings.tickNs)
{
}

void
TokenBucket::Advance(int64_t nowNs, double queueBits)
{
    int64_t silent = 0;
    while (m_nextTickNs <= nowNs || m_nextUpdateNs <= nowNs)
    {
        if (m_nextUpdateNs <= m_nextTickNs) // at the same instant the rate changes first
        {
            silent = m_countedBits == 0 && queueBits == 0 ? silent + 1 : 0;
            if (silent > SILENT_UPDATES)
            {
                const int64_t updates = (nowNs - m_nextUpdateNs) / m_settings.updateNs;
                const int64_t ticks = (nowNs - m_nextTickNs) / m_settings.tickNs;
                m_nextUpdateNs += updates * m_settings.updateNs;
                m_nextTickNs += ticks * m_settings.tickNs;
                m_rate = 0;
                silent = 0;
            }
            m_rate = (1 - m_settings.eta) * m_rate +
                     m_settings.eta * m_countedBits / (static_cast<double>(m_settings.updateNs) * 1e-9) +
                     m_settings.beta * queueBits;
            m_countedBits = 0;
            m_nextUpdateNs += m_settings.updateNs;
        }
        else
        {
            m_tokens = std::min(m_settings.depthBits,
                                m_tokens + m_rate * static_cast<double>(m_settings.tickNs) * 1e-9);
            m_nextTickNs += m_settings.tickNs;
        }
    }
}

void
TokenBucket::Count(double bits)
{
    m_countedBits += bits;
}

void
TokenBucket::Spend(double bits)
{
    m_tokens -= bits;
}

} // namespace packets
