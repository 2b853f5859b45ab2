#ifndef PACKETS_TOKEN_BUCKET_H
#define PACKETS_TOKEN_BUCKET_H

#include <cstdint>

namespace packets
{

/**
 * The pacer's token bucket and the law of its rate (section II.C of the report):
 *
 *     R <- (1 - eta) R + eta M / T + beta Q
 *
 * once every T, where M is what the host sent in the last T (bits, paced or not) and Q what waits in the
 * pacer (bits). Tokens are added once per tick. Nothing runs while nobody asks: Advance() catches up.
 */
class TokenBucket
{
  public:
    /// Parameters; defaults from Table I and, where it is silent, from the authors' experiments.
    struct Settings
    {
        double eta{0.125};
        double beta{16};            //!< 1/s, once per update
        double startBps{100e6};     //!< first rate, bit/s
        double depthBits{24000};    //!< of the bucket
        int64_t updateNs{32000};    //!< T: between two updates of the rate
        int64_t tickNs{16000};      //!< between two deliveries of tokens
    };

    /// @param startNs when the first period begins; the bucket is full then
    TokenBucket(const Settings& settings, int64_t startNs);

    /// Bring rate and tokens up to @p nowNs; @p queueBits waited during all of that time.
    void Advance(int64_t nowNs, double queueBits);
    /// The host sends this much: it counts as M of the period that runs.
    void Count(double bits);
    /// Spend tokens, which may leave a debt.
    void Spend(double bits);

    double Rate() const
    {
        return m_rate;
    }

    double Tokens() const
    {
        return m_tokens;
    }

    /// When the rate is updated next.
    int64_t NextUpdateNs() const
    {
        return m_nextUpdateNs;
    }

  private:
    Settings m_settings;
    double m_rate;
    double m_tokens;
    double m_countedBits{0};
    int64_t m_nextUpdateNs;
    int64_t m_nextTickNs;
};

} // namespace packets

#endif
