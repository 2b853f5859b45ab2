#ifndef PACKETS_CONGESTION_H
#define PACKETS_CONGESTION_H

#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-dctcp.h"

namespace packets
{

/**
 * TCP NewReno whose window stays within what the receiver ever offers. ns-3 lets it grow beyond, and halving
 * what was never used answers no loss.
 */
class Reno : public ns3::TcpNewReno
{
  public:
    static ns3::TypeId GetTypeId();
    std::string GetName() const override;
    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

  private:
    uint32_t m_mostSegments{1256};
};

/**
 * ns-3's DCTCP (RFC 8257) with the same upper bound, and with a smallest window: without one, a window below
 * two segments waits for timers.
 */
class Dctcp : public ns3::TcpDctcp
{
  public:
    static ns3::TypeId GetTypeId();
    Dctcp();
    Dctcp(const Dctcp& other);
    std::string GetName() const override;
    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override;
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t bytesInFlight) override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

    /// The running estimate of the fraction of bytes that were marked; that of the start until it is updated.
    double Alpha() const
    {
        return m_lastAlpha;
    }

  private:
    void Estimated(uint32_t markedBytes, uint32_t ackedBytes, double alpha);

    uint32_t m_mostSegments{1256};
    uint32_t m_leastSegments{2};
    double m_lastAlpha{1};
};

} // namespace packets

#endif
