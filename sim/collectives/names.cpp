// Names of algorithms and protocols as reports and scenarios write them.
#include "sim/collectives/transfer.h"

namespace memwall {

std::string_view name_of(Algorithm algorithm) {
    switch (algorithm) {
    case Algorithm::None:
        return "none";
    case Algorithm::Ring:
        return "ring";
    case Algorithm::Tree:
        return "tree";
    case Algorithm::Hierarchical:
        return "hierarchical";
    case Algorithm::Nvls:
        return "nvls";
    case Algorithm::Pairwise:
        return "pairwise";
    case Algorithm::PointToPoint:
        return "p2p";
    }
    return "";
}

std::string_view name_of(Protocol protocol) {
    switch (protocol) {
    case Protocol::None:
        return "";
    case Protocol::Ll:
        return "ll";
    case Protocol::Ll128:
        return "ll128";
    case Protocol::Simple:
        return "simple";
    }
    return "";
}

}  // namespace memwall
