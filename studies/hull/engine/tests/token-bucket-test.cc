#include "token-bucket.h"

#include <doctest/doctest.h>

#include <cmath>

using packets::TokenBucket;

namespace
{
constexpr int64_t US = 1000;
}

TEST_CASE("the rate follows its difference equation: by hand")
{
    TokenBucket bucket({}, 0);
    CHECK(bucket.Rate() == 100e6);
    bucket.Count(7920);
    bucket.Advance(31 * US, 0);
    CHECK(bucket.Rate() == 100e6); // not yet
    bucket.Advance(32 * US, 0);
    // 0.875 * 100e6 + 0.125 * 7920 / 32e-6
    CHECK(bucket.Rate() == doctest::Approx(87.5e6 + 30.9375e6));
    bucket.Advance(64 * US, 12000);
    // nothing sent, 12,000 bits queued: 0.875 * 118.4375e6 + 16 * 12000
    CHECK(bucket.Rate() == doctest::Approx(103.6328125e6 + 0.192e6));
}

TEST_CASE("in steady state the rate is what is sent, and 128 times the queue")
{
    TokenBucket bucket({}, 0);
    for (int64_t n = 1; n <= 400; ++n)
    {
        bucket.Count(16000); // 500 Mb/s
        bucket.Advance(n * 32 * US, 24000);
    }
    CHECK(bucket.Rate() == doctest::Approx(500e6 + 128 * 24000.0));
}

TEST_CASE("tokens come once per tick, at the rate then, up to the depth")
{
    TokenBucket bucket({}, 0);
    CHECK(bucket.Tokens() == 24000);
    bucket.Spend(20000);
    bucket.Advance(16 * US, 0); // 100e6 * 16e-6
    CHECK(bucket.Tokens() == doctest::Approx(5600));
    bucket.Advance(32 * US, 0); // at one instant the rate comes first: 87.5e6 * 16e-6
    CHECK(bucket.Tokens() == doctest::Approx(7000));
    for (int64_t n = 3; n < 100; ++n)
    {
        bucket.Count(16000);
        bucket.Advance(n * 16 * US, 0);
    }
    CHECK(bucket.Tokens() == 24000);
    bucket.Spend(30000);
    CHECK(bucket.Tokens() == -6000);
}

TEST_CASE("a silence that is skipped ends as one that is computed")
{
    TokenBucket skipped({}, 0);
    TokenBucket computed({}, 0);
    skipped.Spend(24000);
    computed.Spend(24000);
    double rate = 100e6;
    for (int64_t n = 1; n <= 3000; ++n)
    {
        computed.Advance(n * 32 * US, 0);
        rate *= 0.875;
    }
    skipped.Advance(3000 * 32 * US, 0);
    CHECK(skipped.Tokens() == doctest::Approx(computed.Tokens()).epsilon(1e-12));
    CHECK(std::abs(skipped.Rate() - rate) < 1e-9);
    CHECK(skipped.NextUpdateNs() == computed.NextUpdateNs());
}
