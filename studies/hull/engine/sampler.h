#ifndef PACKETS_SAMPLER_H
#define PACKETS_SAMPLER_H

#include "port.h"

#include <cstdint>
#include <vector>

namespace packets
{

/**
 * Looks at one port's queue at even intervals: what waits at that instant, and the mean over the interval
 * since the last look, which the port's own integral gives exactly.
 */
class Sampler
{
  public:
    /// The first interval begins at @p fromNs, the last ends at @p untilNs at the latest.
    Sampler(const Port& port, int64_t everyNs, int64_t fromNs, int64_t untilNs);

    const std::vector<double>& MeanBytes() const
    {
        return m_mean;
    }

    const std::vector<double>& InstantBytes() const
    {
        return m_instant;
    }

  private:
    void Look();

    const Port& m_port;
    int64_t m_everyNs;
    int64_t m_untilNs;
    double m_area{0};
    bool m_started{false};
    std::vector<double> m_mean;
    std::vector<double> m_instant;
};

} // namespace packets

#endif
