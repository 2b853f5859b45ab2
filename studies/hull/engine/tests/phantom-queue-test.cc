#include "phantom-queue.h"

#include <doctest/doctest.h>

using packets::PhantomQueue;

TEST_CASE("packets of 990 bytes at the link's rate: by hand")
{
    // 950 Mb/s drain 0.11875 bytes/ns; a packet every 7,920 ns drains 940.5 bytes of the 990 it adds.
    PhantomQueue queue(950e6, 1000);
    CHECK_FALSE(queue.Pass(0, 990)); // 990
    CHECK(queue.Bytes() == doctest::Approx(990));
    CHECK(queue.Pass(7920, 990)); // 990 - 940.5 + 990 = 1039.5
    CHECK(queue.Bytes() == doctest::Approx(1039.5));
    CHECK(queue.Pass(15840, 990)); // 1089
    CHECK(queue.Bytes() == doctest::Approx(1089));
    CHECK_FALSE(queue.Pass(25840, 990)); // 10,000 ns drain 1187.5: empty, then 990
    CHECK(queue.Bytes() == doctest::Approx(990));
}

TEST_CASE("exactly the threshold is not above it")
{
    PhantomQueue queue(950e6, 990);
    CHECK_FALSE(queue.Pass(0, 990));
    CHECK(queue.Pass(1, 990));
}

TEST_CASE("packets larger than the threshold are all marked: why the report has 950-byte segments")
{
    PhantomQueue queue(950e6, 1000);
    for (int64_t n = 0; n < 10; ++n)
    {
        CHECK(queue.Pass(n * 1'000'000, 1500));
    }
}

TEST_CASE("below the drain rate nothing is marked, above it the counter grows by the difference")
{
    PhantomQueue slow(900e6, 1000);
    for (int64_t n = 0; n < 1000; ++n)
    {
        CHECK_FALSE(slow.Pass(n * 8900, 990)); // 890 Mb/s
    }
    PhantomQueue fast(900e6, 1000);
    for (int64_t n = 0; n < 1000; ++n)
    {
        fast.Pass(n * 7920, 990); // 1,000 Mb/s: 99 bytes stay of each of the 999 gaps
    }
    CHECK(fast.Bytes() == doctest::Approx(990 + 999 * 99));
}
