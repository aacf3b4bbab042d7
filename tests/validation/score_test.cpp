// Errors and rankings by their definitions.
#include "sim/validation/score.h"

#include <cmath>

#include <doctest/doctest.h>

#include "sim/validation/report.h"

using namespace memwall;

namespace {

ValidatedRow row(const std::string& id, double measured, double predicted, int gpus = 8) {
    ValidatedRow r;
    r.table = "folder/t.csv";
    r.id = id;
    r.status = RowStatus::Scored;
    r.gpu = "g";
    r.framework = "f";
    r.model = "m";
    r.gpus = gpus;
    r.measured_time = measured;
    r.predicted_time = predicted;
    return r;
}

}  // namespace

TEST_CASE("errors are taken of predicted over measured") {
    const ErrorScore s = score_errors({1.1, 0.8, 1.0, 1.3});
    CHECK(s.rows == 4);
    CHECK(s.mape == doctest::Approx(0.15));
    CHECK(s.bias == doctest::Approx(0.05));
    CHECK(s.median == doctest::Approx(0.15));  // of 0, 0.1, 0.2, 0.3
    CHECK(s.p90 == doctest::Approx(0.3));
    CHECK(s.max == doctest::Approx(0.3));
    CHECK(s.geometric ==
          doctest::Approx(std::exp((std::log(1.1) - std::log(0.8) + std::log(1.3)) / 4) - 1));
    CHECK(score_errors({}).rows == 0);
}

TEST_CASE("Kendall's tau counts pairs of one table, model and number of GPUs") {
    // 1 < 2 < 3 measured; predicted 1 < 3 < 2: two pairs agree, one does not.
    std::vector<ValidatedRow> rows = {row("a", 1, 1), row("b", 2, 3), row("c", 3, 2)};
    rows.push_back(row("d", 0.5, 9, 16));  // alone in its group
    std::vector<const ValidatedRow*> all;
    for (const ValidatedRow& r : rows) {
        all.push_back(&r);
    }
    const RankScore s = score_ranking(all);
    CHECK(s.groups == 1);
    CHECK(s.pairs == 3);
    CHECK(s.tau == doctest::Approx(1.0 / 3));
}

TEST_CASE("rows that are not scored are counted and listed, never averaged") {
    std::vector<ValidatedRow> rows = {row("a", 1, 1.25), row("b", 1, 5)};
    rows[1].status = RowStatus::NotYet;
    rows[1].reason = "expert parallelism";
    const Scores s = score(rows);
    CHECK(s.all.rows == 2);
    CHECK(s.all.scored == 1);
    CHECK(s.all.time.mape == doctest::Approx(0.25));
    CHECK(s.by_scale.at("2-8 GPUs").time.rows == 1);
    const std::string text = validation_text(rows, true);
    CHECK(text.find("not_yet: expert parallelism") != std::string::npos);
    CHECK(text.find("t.csv") != std::string::npos);
    CHECK(text.find("folder/") == std::string::npos);
    const std::string json = validation_json(rows);
    CHECK(json.find("\"mape_percent\": 25.0") != std::string::npos);
    const std::string csv = validation_csv(rows);
    CHECK(csv.find("t.csv,b,not_yet,g,f,m,8,,,,,true,true,expert parallelism") !=
          std::string::npos);
}
