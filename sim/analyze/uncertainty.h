#pragma once
// How well the rows of a fit tell its constants apart.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/analyze/least_squares.h"

namespace memwall {

// Standard errors of a robust fit (Huber, "Robust Statistics", section 7.6):
//   C = (J'J / K + H)^-1,  K = [sum psi^2 / (n - p)] / [mean psi']^2,  psi = r / sqrt(1 + (r/s)^2)
//   H = 1 / doubt^2 on the diagonal of a constant that is held: its value is not known either, and what trades off against
//       it is known less for that
// Rows count as independent; errors that a law makes alike on neighbouring rows are wider than this.
struct Uncertainty {
    std::vector<double> standard_error;  // infinite when no row feels the constant; 0 when held
    std::vector<double>
        at_noise;  // if rows scattered by `noise` at the least, and those held were known
    // The constant with the largest `at_noise`, and those it trades off against: large parts of the least determined
    // direction of J'J.
    std::size_t worst = 0;
    std::vector<std::size_t> partners;
    std::size_t freedom = 0;  // n - p
};
// How a constant stood in the fit.
enum class Standing : std::uint8_t {
    Free,
    Held,   // kept its value for lack of rows that tell it
    Known,  // kept its value, or rests on a bound, and is right
};
struct Doubt {
    double noise = 0;  // of ln t
    double held = 0;   // standard deviation of a constant that was held
};
[[nodiscard]] Uncertainty uncertainty_of(const LeastSquaresSolution& solution,
                                         const std::vector<Standing>& standing,
                                         const Doubt& doubt);

// The two-sided 95 % point of Student's t.
[[nodiscard]] double student_95(std::size_t freedom);

}  // namespace memwall
