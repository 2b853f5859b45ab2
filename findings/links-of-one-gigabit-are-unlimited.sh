#!/bin/bash
# JGraphT 1.5.3 (CapacityScalingMinimumCostFlow, the library's one algorithm for flows of minimum cost).
# Done: two hosts send to two others over two links between their switches, a near one of cost 1 and a far one of cost
# 2. Each sends three quarters of a link's rate, so that both links together are wide enough. All links have 100 Mb/s,
# 1 Gb/s less 1 bit/s, or 1 Gb/s, given in bit/s; or 1 Gb/s in kb/s.
# Expected: the near link is filled, and the far one carries the half that is left, whatever the rate and its unit.
# Seen: so it is in all cases but that of 1 Gb/s in bit/s, where the near link carries 1.5 Gb/s, and the far one none.
# A capacity of 10^9 or more is no limit: that is CAP_INF, which the class says takes any flow, naming no number.
# Why it matters: 1 Gb/s is the rate that most experiments have, bit/s is the unit in which their rates are kept, and
# capacities are integers of 32 bits, which hold twice as much. Flows are placed on links that cannot carry them, and
# nothing is raised. Give kb/s.
set -Eeuo pipefail
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH LC_ALL=C
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cannot() { echo "cannot run: $*" >&2; exit 2; }
trap 'cannot "line $LINENO: $BASH_COMMAND"' ERR
[[ "$(javac -J-XX:-UsePerfData -version 2>&1)" =~ javac\ (1[1-9]|[2-9][0-9]) ]] || cannot "needs a JDK of 11 or newer"
[ -n "$(type -P mvn)" ] || cannot "needs Maven"
cat >"$tmp/pom.xml" <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>findings</groupId>
  <artifactId>links</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.jgrapht</groupId><artifactId>jgrapht-core</artifactId><version>1.5.3</version></dependency>
    <dependency><groupId>org.jheaps</groupId><artifactId>jheaps</artifactId><version>0.14</version></dependency>
    <dependency><groupId>org.apfloat</groupId><artifactId>apfloat</artifactId><version>1.14.0</version></dependency>
  </dependencies>
</project>
POM
cat >"$tmp/Links.java" <<'SCRIPT'
import java.util.List;
import org.jgrapht.alg.flow.mincost.CapacityScalingMinimumCostFlow;
import org.jgrapht.alg.flow.mincost.MinimumCostFlowProblem.MinimumCostFlowProblemImpl;
import org.jgrapht.graph.DefaultWeightedEdge;
import org.jgrapht.graph.DirectedWeightedMultigraph;

public class Links {
    /** What the near and the far link carry, if both hosts send three quarters of a link's rate. */
    static List<Double> placed(int rate) {
        var net = new DirectedWeightedMultigraph<String, DefaultWeightedEdge>(DefaultWeightedEdge.class);
        List.of("from 1", "from 2", "left", "right", "to 1", "to 2").forEach(net::addVertex);
        for (var access : List.of("from 1", "from 2")) net.addEdge(access, "left");
        for (var access : List.of("to 1", "to 2")) net.addEdge("right", access);
        var near = net.addEdge("left", "right");
        var far = net.addEdge("left", "right");
        net.setEdgeWeight(far, 2);
        int demand = rate / 4 * 3;
        var problem = new MinimumCostFlowProblemImpl<String, DefaultWeightedEdge>(net,
            node -> node.startsWith("from") ? demand : node.startsWith("to") ? -demand : 0, link -> rate);
        var flow = new CapacityScalingMinimumCostFlow<String, DefaultWeightedEdge>().getMinimumCostFlow(problem);
        return List.of(flow.getFlow(near), flow.getFlow(far));
    }

    static List<Double> shown(String links, int rate) {
        var placed = placed(rate);
        System.out.printf("%-22s near %,14.0f   far %,12.0f%n", links, placed.get(0), placed.get(1));
        return placed;
    }

    public static void main(String[] args) {
        boolean asSeen = shown("100 Mb/s", 100_000_000).equals(List.of(100e6, 50e6))
            & shown("999,999,999 bit/s", 999_999_999).equals(List.of(999_999_999.0, 499_999_995.0))
            & shown("1 Gb/s", 1_000_000_000).equals(List.of(1.5e9, 0.0))
            & shown("1 Gb/s, in kb/s", 1_000_000).equals(List.of(1e6, 5e5));
        System.exit(asSeen ? 0 : 1);
    }
}
SCRIPT
cd "$tmp"
MAVEN_OPTS=-XX:-UsePerfData mvn -q -B "-Dmaven.repo.local=$tmp/maven" -Dmaven.wagon.rto=20000 \
    -Daether.connector.requestTimeout=20000 org.codehaus.mojo:exec-maven-plugin:3.1.0:exec -Dexec.executable=echo \
    -Dexec.args=%classpath "-Dexec.outputFile=$tmp/classpath" >"$tmp/mvn" 2>&1 ||
    cannot "mvn: $(grep -m 1 ERROR "$tmp/mvn")"
path=$(tail -n 1 classpath)
javac -J-XX:-UsePerfData -cp "$path" Links.java >"$tmp/javac" 2>&1 || cannot "javac: $(head -n 1 "$tmp/javac")"
echo "JGraphT 1.5.3"
java -XX:-UsePerfData -cp "$tmp:$path" Links || exit 1
