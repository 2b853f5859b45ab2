from record.published import CAPACITY_MBPS, FIGURE_9, TABLE_3, TABLE_6
from traffic.patterns import PUBLISHED


def test_figure_9_has_a_bar_for_every_matrix_and_scheme():
    assert tuple(FIGURE_9) == PUBLISHED
    static = {"ecmp", "ecmp-dst", "spanning-tree", "ecmp-edge-pair", "ecmp-polarized"}
    for bars in FIGURE_9.values():
        assert set(bars) == static | {"nonblocking", "hedera-gff", "hedera-sa"}
        assert all(0 < bar <= CAPACITY_MBPS for bar in bars.values())


def test_tables_read_across_and_down():
    assert TABLE_3[1024, 50_000] == 75.79
    assert TABLE_3[8192, None] == 77.63
    assert TABLE_6[27648, 10] == 145.5
