#pragma once
// Shortest paths over a small explicit graph, all of equal length. Boost.Graph inside.
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace memwall {

struct DirectedEdge {
    int from = 0;
    int to = 0;
};

class PathFinder {
  public:
    // Every connection must be listed in both directions. `relays`: by vertex, whether a path may pass through it
    // (empty = all may); its ends need not be relays.
    PathFinder(int vertices, std::span<const DirectedEdge> edges, std::vector<bool> relays = {});
    ~PathFinder();
    PathFinder(const PathFinder&) = delete;
    PathFinder& operator=(const PathFinder&) = delete;

    // All paths with the fewest edges, each as indices of edges, in the order of the edges' indices; empty when there
    // is none or it has more than `edges_max` edges, or from == to.
    [[nodiscard]] std::vector<std::vector<std::size_t>> shortest(int from,
                                                                 int to,
                                                                 int edges_max) const;

  private:
    struct Graph;
    std::unique_ptr<Graph> graph_;
};

}  // namespace memwall
