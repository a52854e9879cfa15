#include "tools/check/check_json.h"

#include "bench/harness/machine.h"
#include "registry/base/atomic_file.h"
#include "tools/check/report_json.h"

namespace halyard::check {

void save_checks(const std::string &path, const CheckRun &run) {
    int passed = 0, failed = 0, skipped = 0;
    nlohmann::json ops = nlohmann::json::array();
    for (auto &r : run.reports) {
        passed += r.passed;
        failed += r.failed;
        skipped += r.skipped;
        ops.push_back(check::json_of(r));
    }
    const nlohmann::json all = {
        {"kind", "halyard check"}, {"version", 1},           {"date", now()},
        {"cpu", processor()},      {"isas", run.isas},       {"quick", run.quick},
        {"seed", run.seed},        {"seconds", run.seconds}, {"passed", passed},
        {"failed", failed},        {"skipped", skipped},     {"ops", ops}};
    write_file(path, all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
               Durability::to_system);
}

}  // namespace halyard::check
