#include "sim/io/report.h"

namespace memwall {
namespace {

bool holds(const CheckExpression& check, double value) {
    switch (check.relation) {
    case CheckExpression::Relation::Holds:
        return value != 0;
    case CheckExpression::Relation::Less:
        return value < check.value;
    case CheckExpression::Relation::LessEqual:
        return value <= check.value;
    case CheckExpression::Relation::Greater:
        return value > check.value;
    case CheckExpression::Relation::GreaterEqual:
        return value >= check.value;
    }
    return false;
}

}  // namespace

std::vector<CheckOutcome> evaluate_checks(const Plan& plan, const Metrics& metrics) {
    std::vector<CheckOutcome> outcomes;
    for (const CheckExpression& check : plan.checks) {
        const FigureValue value = figure(metrics, check.figure);
        outcomes.push_back(
            {check.text, check.figure, value.value, value.ok && holds(check, value.value)});
    }
    return outcomes;
}

std::vector<Comparison> compare_with_published(const Plan& plan, const Metrics& metrics) {
    std::vector<Comparison> comparisons;
    for (const Published& published : plan.published) {
        const FigureValue value = figure(metrics, published.figure);
        if (value.ok) {
            comparisons.push_back({published.figure,
                                   published.value,
                                   value.value,
                                   published.same_configuration,
                                   published.source});
        }
    }
    return comparisons;
}

}  // namespace memwall
