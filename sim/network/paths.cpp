#include "sim/network/paths.h"

#include <algorithm>
#include <utility>

#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/filtered_graph.hpp>

namespace memwall {

namespace {

// The edge's bundle is its index: building the compressed rows reorders edges.
using Csr = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, std::size_t>;

Csr make(int vertices, std::span<const DirectedEdge> edges) {
    std::vector<std::pair<std::size_t, std::size_t>> ends;
    std::vector<std::size_t> ids;
    for (const DirectedEdge& e : edges) {
        ids.push_back(ends.size());
        ends.emplace_back(static_cast<std::size_t>(e.from), static_cast<std::size_t>(e.to));
    }
    return {boost::edges_are_unsorted_multi_pass,
            ends.begin(),
            ends.end(),
            ids.begin(),
            static_cast<std::size_t>(vertices)};
}

// Keeps the search from going on behind a vertex that does not relay, other than its root.
struct LeavesRelay {
    const Csr* graph = nullptr;
    const std::vector<bool>* relays = nullptr;
    std::size_t root = 0;
    bool operator()(const Csr::edge_descriptor& e) const {
        const std::size_t from = boost::source(e, *graph);
        return from == root || relays->empty() || (*relays)[from];
    }
};

}  // namespace

struct PathFinder::Graph {
    Csr csr;
    std::vector<bool> relays;

    void walk(std::size_t at,
              const std::vector<int>& distance,
              std::vector<std::size_t>& path,
              std::vector<std::vector<std::size_t>>& found) const {
        if (distance[at] == 0) {
            found.push_back(path);
            return;
        }
        for (auto [e, end] = boost::out_edges(at, csr); e != end; ++e) {
            const std::size_t next = boost::target(*e, csr);
            const bool relays_on = distance[next] == 0 || relays.empty() || relays[next];
            if (distance[next] == distance[at] - 1 && relays_on) {
                path.push_back(csr[*e]);
                walk(next, distance, path, found);
                path.pop_back();
            }
        }
    }
};

PathFinder::PathFinder(int vertices, std::span<const DirectedEdge> edges, std::vector<bool> relays)
    : graph_(std::make_unique<Graph>(Graph{make(vertices, edges), std::move(relays)})) {}

PathFinder::~PathFinder() = default;

std::vector<std::vector<std::size_t>> PathFinder::shortest(int from, int to, int edges_max) const {
    const auto root = static_cast<std::size_t>(to);
    std::vector<int> distance(boost::num_vertices(graph_->csr), -1);
    distance[root] = 0;
    // Both directions are there, so the distance from `to` is the distance to it.
    const boost::filtered_graph<Csr, LeavesRelay> reachable(graph_->csr,
                                                            {&graph_->csr, &graph_->relays, root});
    boost::breadth_first_search(reachable,
                                root,
                                boost::visitor(boost::make_bfs_visitor(boost::record_distances(
                                    distance.data(), boost::on_tree_edge()))));
    std::vector<std::vector<std::size_t>> found;
    const int edges = distance[static_cast<std::size_t>(from)];
    if (edges > 0 && edges <= edges_max) {
        std::vector<std::size_t> path;
        graph_->walk(static_cast<std::size_t>(from), distance, path, found);
        std::sort(found.begin(), found.end());
    }
    return found;
}

}  // namespace memwall
