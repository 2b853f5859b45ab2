#ifndef PACKETS_CONGESTION_H
#define PACKETS_CONGESTION_H

#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-dctcp.h"

namespace packets
{

/**
 * What both variants share: the window stays within what the receiver ever offers, and falls back to the
 * initial one when a connection has been idle for a while (RFC 5681, section 4.1), if so wished.
 *
 * ns-3 lets a window grow beyond what is ever used, and halving that answers no loss; and it never falls back.
 */
class WindowBounds
{
  public:
    /// Attributes to set these by, for a type @p tid that derives from this class as @p T.
    template <typename T>
    static ns3::TypeId AddAttributes(ns3::TypeId tid);

    void Cap(ns3::Ptr<ns3::TcpSocketState> tcb) const;
    /// An ACK of new data has arrived.
    void Active();
    /// A packet is about to leave with none under way.
    void Starts(ns3::Ptr<ns3::TcpSocketState> tcb) const;

  protected:
    uint32_t m_mostSegments{1256};
    ns3::Time m_idle; //!< after so long; 0: never

  private:
    ns3::Time m_lastActive;
};

/// TCP NewReno (RFC 6582), ns-3's.
class Reno : public ns3::TcpNewReno, public WindowBounds
{
  public:
    static ns3::TypeId GetTypeId();
    std::string GetName() const override;
    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override;
    void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked, const ns3::Time& rtt) override;
    void CwndEvent(ns3::Ptr<ns3::TcpSocketState> tcb, ns3::TcpSocketState::TcpCAEvent_t event) override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
};

/**
 * ns-3's DCTCP (RFC 8257) with a smallest window (without one, a window below two segments waits for timers),
 * and with the answer to a loss that RFC 8257 asks for (section 3.5): that of TCP, half. ns-3 answers losses as
 * it answers marks, and keeps windows of a thousand segments. If so wished it does as Linux, which counts windows in
 * segments: a cut of less than one is none, and with any cut the count towards the next segment begins anew.
 */
class Dctcp : public ns3::TcpDctcp, public WindowBounds
{
  public:
    static ns3::TypeId GetTypeId();
    Dctcp() = default;
    Dctcp(const Dctcp& other);
    std::string GetName() const override;
    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override;
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t bytesInFlight) override;
    void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked, const ns3::Time& rtt) override;
    void CwndEvent(ns3::Ptr<ns3::TcpSocketState> tcb, ns3::TcpSocketState::TcpCAEvent_t event) override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

    /// The socket says when what it asks for next is because of its timer, which its state does not tell.
    void TimedOut(bool timeout)
    {
        m_timeout = timeout;
    }

    /// The running estimate of the fraction of bytes that were marked; that of the start until it is updated.
    double Alpha() const
    {
        return m_lastAlpha;
    }

  protected:
    void NotifyConstructionCompleted() override;
    void CongestionAvoidance(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override;

  private:
    void Estimated(uint32_t markedBytes, uint32_t ackedBytes, double alpha);

    uint32_t m_leastSegments{2};
    bool m_wholeCuts{false};
    bool m_growthAnew{false};
    uint32_t m_acked{0}; //!< segments since the window grew or was cut
    double m_lastAlpha{1};
    bool m_timeout{false};
};

} // namespace packets

#endif
