// Tests halyard report: its inputs, its errors, and its page in a browser.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/tools/command.h"
#include "tools/report/run_file.h"

namespace halyard {
namespace {
using nlohmann::json;

// Text that ends scripts, opens elements and ends JSON strings if a page doesn't escape it.
const std::string hostile = "</script><script>document.title='taken'</script><img src=x "
                            "onerror=alert(1)> \" \\ <!-- \u2028 &lt;";

// Three rounds of three kernels, and one that violated its contract.
json bench_file() {
    json file = json::parse(
        R"({"context": {"date": "2026-11-21T23:53:09+00:00", "host_name": "box", "cpu": "Some CPU", "num_cpus": 2, "command": "halyard bench relu --json b", "load_avg": [0.25, 1, 2]},
                                "benchmarks": []})");
    const json run = json::parse(
        R"({"run_type": "iteration", "threads": 1, "iterations": 10, "time_unit": "ns", "label": "halyard bench relu",
                                     "flops": 4096, "bytes": 32768, "error": 1e-7, "peer": 0, "chosen": 0})");
    const auto add = [&](const std::string &label, double ns) -> json & {
        file["benchmarks"].push_back(run);
        json &added = file["benchmarks"].back();
        added["name"] = "relu/d0=1,d1=1,d2=4096/f32/" + label + "/threads:1";
        added["real_time"] = added["cpu_time"] = ns;
        return added;
    };
    for (const int noise : {0, 14, 7}) {
        add("avx2", 500 + noise)["chosen"] = 1;
        add("baseline", 900 + noise);
        add("oneDNN", 600 + noise)["peer"] = 1;
    }
    json &broken = add("fast/avx2", 0);
    broken["error_occurred"] = true;
    broken["error_message"] = hostile;
    return file;
}

json check_file() {
    json file = json::parse(
        R"({"kind": "halyard check", "version": 1, "cpu": "Some CPU", "date": "2026-11-21T23:54:00Z", "failed": 1,
        "ops": [{"op": "relu", "passed": 9, "failed": 1, "skipped": 1, "seconds": 0.5, "failures": [], "notes": ["no device"],
                 "checks": [{"check": "reference", "passed": 9, "failed": 1, "skipped": 0}]}]})");
    file["ops"][0]["failures"].push_back(hostile);
    return file;
}

const char *tune_file = R"(# records
op=relu variant=wide picks=run:4 dtypes=f32 isa=avx2 cpu="Some CPU 1/2/3" threads=1 problem="d2=4096" n=9 median_us=0.52 verdict=proved date=2026-11-21T23:50:12Z
op=relu variant=wide picks=run:8 dtypes=f32 isa=avx2 cpu="Some CPU 1/2/3" threads=1 problem="d2=4096" n=9 median_us=0.49 verdict=ok date=2026-11-21T23:50:14Z
op=relu variant=wide picks=run:1 dtypes=f32 isa=avx2 cpu="Some CPU 1/2/3" threads=1 problem="d2=4096" n=0 median_us=0 verdict="breach: \"y\" is 1"
op=relu this is no record
op=relu variant=wide median_us=0.1 median_us=0.2 verdict=proved
)";
const char *roofs_file = R"(halyard roofs 2
Some CPU, 2 cores
load 0.1
level 1 L1 32768 9e10 8e10 1.2e11 1e11 7e11
level 1 memory 9223372036854775807 1e10 8e9 9e9 9e9 1.1e10
peak 1 avx2 f32 1e11
end
)";

const char *mutants_file = R"({"isa": "avx2", "seed": 1, "mutants": [
    {"op": "relu", "variant": "wide", "fault": "dropped-tail: loop i in y", "fate": "caught", "caught_by": ["exact", "fuzz"], "said": "y[3] is 1"},
    {"op": "relu", "variant": "wide", "fault": "wrong-clamp: min in y #3", "fate": "survived", "caught_by": [], "said": "the same bits"},
    {"op": "relu", "variant": "", "fault": "lost-mask: y", "fate": "same code", "caught_by": [], "said": ""}]})";

const char *explain_file =
    R"({"op": "relu", "signature": "x[*] -> y[*]", "attributes": "", "problem": {"d2": 6, "x_s2": 2}, "outer_loops": [],
    "copies": [{"tensor": "x", "why": "no kernel takes its strides", "seconds": 1e-7}], "other_dtypes": ["f16"],
    "candidates": [{"backend": "cpu", "dtypes": "f32", "variant": "", "isa": "avx2", "picks": "", "chosen": true, "seconds": 4e-7},
                   {"backend": "cpu", "dtypes": "f32", "variant": "wide", "isa": "baseline", "picks": "", "chosen": false, "seconds": 2e-7},
                   {"backend": "opencl", "dtypes": "f32", "variant": "", "isa": "baseline", "picks": "", "chosen": false, "refused": "refused: c>=2: c is 1"}],
    "price": {"call": 5e-7, "kernel": 4e-7, "best_kernel": 2e-7, "loss": 2.5}})";

json train_file() {
    json file = json::parse(
        R"({"kind": "halyard train", "version": 1, "title": "", "unit": "images", "cpu": "Some CPU", "date": "2026-11-22T06:31:00Z", "epochs": 3, "stride": 1,
        "steps_per_epoch": 20, "queue_capacity": 4, "about": [["seed", "10"]], "ended": [], "evaluations": [], "step_times": [[0.001, 37], [0.00102, 2], [0.5, 1]]})");
    file["title"] = hostile;
    for (const char *name :
         {"step", "loss", "learning_rate", "seconds", "wait", "queue", "samples"})
        file["steps"][name] = json::array();
    for (int i = 1; i <= 40; i++) {
        file["steps"]["step"].push_back(i);
        file["steps"]["loss"].push_back(i == 30 ? json() : json(2.0 / i));
        file["steps"]["learning_rate"].push_back(0.1);
        file["steps"]["seconds"].push_back(0.001);
        file["steps"]["wait"].push_back(0.0001);
        file["steps"]["queue"].push_back(3);
        file["steps"]["samples"].push_back(32);
    }
    for (int epoch : {1, 2}) {
        file["ended"].push_back({{"epoch", epoch},
                                 {"step", 20 * epoch},
                                 {"loss", 0.5},
                                 {"learning_rate", 0.1},
                                 {"seconds", 0.02},
                                 {"wait", 0.002},
                                 {"samples", 640}});
        file["evaluations"].push_back(
            {{"epoch", epoch}, {"step", 20 * epoch}, {"results", {{"accuracy", 0.4 * epoch}}}});
    }
    return file;
}

class Report : public Command {
protected:
    void SetUp() override {
        Command::SetUp();
        write("bench.json", bench_file().dump());
        write("check.json", check_file().dump());
        write("relu.tune", tune_file);
        write("roofs.txt", roofs_file);
        write("mutants.json", mutants_file);
        write("explain.json", explain_file);
        write("run.json", train_file().dump());
    }
    std::string page(const std::string &arguments =
                         "bench.json check.json relu.tune roofs.txt mutants.json "
                         "explain.json run.json -o page.html") const {
        const Result r = halyard("report " + arguments);
        EXPECT_EQ(r.status, 0) << r.err;
        return text_of(dir / "page.html");
    }
};

std::string between(const std::string &text, const std::string &from, const std::string &to) {
    const size_t a = text.find(from) + from.size();
    return text.substr(a, text.find(to, a) - a);
}
json runs_of(const std::string &page) {
    return json::parse(between(page, "id=\"runs\">", "</script>"));
}
int count(const std::string &text, const std::string &what) {
    int n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        n++;
    return n;
}

TEST_F(Report, HasTheFilesContents) {
    const json runs = runs_of(page());
    ASSERT_EQ(runs["files"].size(), 7u);
    const json &bench = runs["files"][0];
    const json &check = runs["files"][1];
    const json &tune = runs["files"][2];
    const json &roofs = runs["files"][3];
    const json &mutants = runs["files"][4];
    EXPECT_EQ(bench["kind"], "bench");
    EXPECT_EQ(
        bench["conditions"],
        json::parse(
            R"([["CPU","Some CPU"],["date","2026-11-21T23:53:09+00:00"],["cores","2"],["load","0.25"]])"));
    ASSERT_EQ(bench["lines"].size(), 4u);
    const json &first = bench["lines"][0];
    const json &broken = bench["lines"][3];
    EXPECT_EQ(first["problem"], "d0=1 d1=1 d2=4096");
    EXPECT_NEAR(first["median"], 507e-9, 1e-15);
    EXPECT_NEAR(first["high"], 514e-9, 1e-15);
    EXPECT_TRUE(first["chosen"]);
    EXPECT_TRUE(bench["lines"][2]["peer"]);
    EXPECT_EQ(broken["fail"], hostile);  // The text is unchanged.
    EXPECT_FALSE(broken.contains("median"));
    EXPECT_EQ(check["ops"][0]["failures"][0], hostile);
    ASSERT_EQ(tune["records"].size(), 3u);
    EXPECT_NEAR(tune["records"][1]["median"], 0.49e-6, 1e-12);
    EXPECT_EQ(tune["records"][2]["fail"], "breach: \"y\" is 1");
    EXPECT_FALSE(tune["records"][2].contains("median"));
    EXPECT_EQ(tune["conditions"][2], json::parse(R"(["lines skipped:","2"])"));
    EXPECT_EQ(roofs["bandwidths"][0], json::parse(R"({"level":"L1","threads":1,"bytes":1.2e11})"));
    EXPECT_EQ(roofs["peaks"][0]["flops"], 1e11);
    EXPECT_EQ(roofs["conditions"],
              json::parse(R"([["CPU","Some CPU"],["load","0.1"],["with","2 cores"]])"));
    EXPECT_EQ(mutants["mutants"][1]["kind"], "wrong-clamp");
    EXPECT_EQ(mutants["mutants"][1]["where"], "min in y #3");
    const json &call = runs["files"][5]["calls"][0];
    const json &kernels = call["candidates"];
    EXPECT_EQ(call["problem"], "d2=6 x_s2=2");
    EXPECT_EQ(
        call["around"],
        json::parse(R"([{"text": "copies x: no kernel takes its strides", "seconds": 1e-7}])"));
    EXPECT_EQ(kernels[0],
              json::parse(R"({"kernel": "cpu f32 avx2", "verdict": "chosen", "seconds": 4e-7})"));
    EXPECT_EQ(kernels[1]["verdict"], "fits, ranked lower");
    EXPECT_EQ(
        kernels[2],
        json::parse(R"({"kernel": "opencl f32", "verdict": "refused", "why": "c>=2: c is 1"})"));
    const json &run = runs["files"][6];
    EXPECT_EQ(run["title"], hostile);
    EXPECT_EQ(run["conditions"],
              json::parse(R"([["CPU","Some CPU"],["date","2026-11-22T06:31:00Z"],["seed","10"],
        ["losses that are NaN or infinite","1 of 40 points"]])"));
    EXPECT_EQ(run["steps"]["loss"][9], 0.2);
    EXPECT_TRUE(run["steps"]["loss"][29].is_null());
    EXPECT_EQ(run["evaluations"][1]["results"]["accuracy"], 0.8);
}

TEST_F(Report, ReadsFilesOfBench) {
    const Result r = halyard("bench relu --shape \"d0=1 d1=1 d2=100\" --rounds 6 --min-time 0.0005 "
                             "--threads 1 --json saved.json");
    ASSERT_EQ(r.status, 0) << r.err;
    const json bench = runs_of(page("saved.json -o page.html"))["files"][0];
    ASSERT_FALSE(bench["lines"].empty());
    for (const json &line : bench["lines"]) {
        EXPECT_EQ(line["op"], "relu");
        EXPECT_EQ(line["problem"], "d0=1 d1=1 d2=100");
        EXPECT_EQ(line["dtype"], "f32");
        EXPECT_EQ(line["threads"], 1);
        EXPECT_EQ(line["samples"], 6);
        EXPECT_GT(line["low"], 0);
        EXPECT_LE(line["low"], line["median"]);
        EXPECT_LE(line["median"], line["high"]);
    }
}

TEST_F(Report, ReadsFilesOfTrain) {
    const Result r = halyard("train lenet5 --epochs 1 --data '" HALYARD_SOURCE_DIR
                             "/data/digits' --out t");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err.find("epoch 1/1 44/44  loss 2.30"), 0u) << r.err;
    const json own = runs_of(text_of(dir / "t/lenet5_run.html"))["files"][0];
    const json run = runs_of(page("t/lenet5_run.json -o page.html"))["files"][0];
    EXPECT_EQ(own, run);
    EXPECT_EQ(run["kind"], "train");
    EXPECT_EQ(run["title"], "lenet5");
    EXPECT_EQ(run["steps"]["loss"].size(), 44u);
    EXPECT_EQ(run["ended"].size(), 1u);
    EXPECT_TRUE(run["evaluations"][0]["results"].contains("accuracy"));
}

TEST_F(Report, LoadsNothingAndEscapesScripts) {
    const std::string text = page("bench.json check.json --title '</title><b>' -o page.html");
    EXPECT_EQ(count(text, "</script"), 3);
    EXPECT_EQ(runs_of(text)["title"], "</title><b>");
    EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
    std::string html = text;  // Text without scripts.
    for (size_t at = 0; (at = html.find("<script", at)) != std::string::npos; at++)
        html.erase(html.find('>', at), html.find("</script>", at) - html.find('>', at));
    for (const char *loads :
         {"http:", "https:", "src=", "href=", "<link", "<img", "<iframe", "url(", "@import"})
        EXPECT_EQ(count(html, loads), 0) << loads;
    EXPECT_NE(text.find("Chart.js v"), std::string::npos);
    EXPECT_LT(text.size(), 400000u);
}

TEST_F(Report, IntervalsContainTheMedian) {
    const auto bounds = [](int n) {
        std::vector<double> seconds;
        for (int i = n; i > 0; i--)
            seconds.push_back(i);
        json line;
        report::add_statistics(line, seconds);
        return std::pair<double, double>(line["low"], line["high"]);
    };
    EXPECT_EQ(bounds(1), std::pair(1.0, 1.0));
    EXPECT_EQ(bounds(5), std::pair(1.0, 5.0));  // Too few for 95 %: the interval is all of them.
    EXPECT_EQ(bounds(8), std::pair(1.0, 8.0));  // 2 * 9 / 256 is above 5 %.
    EXPECT_EQ(bounds(9), std::pair(2.0, 8.0));  // 2 * 10 / 512 is below.
    EXPECT_EQ(bounds(15), std::pair(4.0, 12.0));
}

TEST_F(Report, RejectsOtherFiles) {
    const auto rejected = [&](const char *text, const std::string &message) {
        write("file", text);
        expect_rejected("report bench.json file -o none.html", message);
        EXPECT_FALSE(exists("none.html"));
    };
    rejected("", "[file] is no saved run: expected");
    rejected("some notes\nof mine\n", "[file] is no saved run");
    rejected("{\"a\": 1}", "[file] is no saved run");
    rejected("[1, 2]", "[file] is no saved run");
    rejected("{\"context\": {}, \"benchmarks\": [{\"name\": \"a\"", "[file] is damaged: ");
    rejected("{\"context\": {}, \"benchmarks\": [{\"name\": \"a\"}]}",
             "[file] is damaged: key 'real_time' not found");
    rejected("{\"context\": {}, \"benchmarks\": [{\"name\": \"a\", \"real_time\": \"soon\"}]}",
             "[file] is damaged: ");
    rejected("{\"context\": {}, \"benchmarks\": 7}", "[file] is damaged: ");
    rejected("{\"context\": {}, \"benchmarks\": []}", "[file] has no measurements");
    rejected("{\"kind\": \"halyard check\", \"ops\": [{\"op\": \"a\"}]}",
             "[file] is damaged: key 'passed' not found");
    rejected("{\"kind\": \"halyard check\", \"ops\": 7}", "[file] is damaged: ");
    rejected("{\"mutants\": [{\"op\": \"a\", \"fault\": 3}]}", "[file] is damaged: ");
    rejected("{\"op\": \"relu\", \"candidates\": [{\"backend\": \"cpu\"}]}",
             "[file] is damaged: key 'dtypes' not found");
    json uneven = train_file();
    uneven["steps"]["wait"].erase(0);
    rejected(uneven.dump().c_str(), "[file] is damaged: array index 39 is out of range");
    uneven["steps"]["wait"].push_back("soon");
    rejected(uneven.dump().c_str(), "[file] is damaged: type must be number, but is string");
    uneven.erase("ended");
    uneven["steps"]["wait"].back() = 1;
    rejected(uneven.dump().c_str(), "[file] is damaged: key 'ended' not found");
    expect_rejected("report none.json", "[none.json] can't be read");
    expect_rejected("report .", "[.] is a folder");
    expect_rejected("report bench.json -o no/such/folder.html",
                    "[no/such/folder.html] can't be written");
    EXPECT_EQ(halyard("report").status, 2);
}

TEST_F(Report, CountsLossesThatAreNaN) {
    const std::string what = "[\"losses that are NaN or infinite\",\"";
    EXPECT_NE(page().find(what + "1 of 40 points\"]"), std::string::npos);
    json file = train_file();
    file["steps"]["loss"][2] = nullptr;
    write("run.json", file.dump());
    EXPECT_NE(page().find(what + "2 of 40 points\"]"), std::string::npos);
    file["steps"]["loss"][2] = 1;
    file["steps"]["loss"][29] = 1;
    write("run.json", file.dump());
    EXPECT_EQ(page().find(what), std::string::npos);
}

// In headless Chromium every chart has drawn something, the console is empty, no text of a file
// became an element, and at a phone's width only tables are wider than the screen.
TEST_F(Report, RendersInABrowser) {
    if (std::string(HALYARD_CHROMIUM).empty())
        GTEST_SKIP() << "no chromium here: the page was not shown";
    std::string text = page();
    const std::string probe = R"(<script>addEventListener('load', () => {
        const root = document.documentElement, blank = (c) => !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v);
        root.dataset.width = innerWidth, root.dataset.wide = root.scrollWidth > innerWidth;
        root.dataset.blank = [...document.querySelectorAll('canvas')].filter(blank).length;
        root.dataset.planted = document.querySelectorAll('main img, main script').length;
        const order = () => [...document.querySelectorAll('#times tbody td:first-child')].map((e) => e.textContent).join();
        root.dataset.order = order();
        for (let i = 0; i < 2; i++) document.querySelector('#times th:nth-child(2) button').click();
        root.dataset.sorted = order();
    });</script>)";
    text.insert(text.rfind("</body>"), probe);
    write("probed.html", text);
    const auto show = [&](const std::string &options) {
        const std::string command =
            "cd '" + dir.string() +
            "' && '" HALYARD_CHROMIUM
            "' --no-sandbox --disable-gpu --user-data-dir=profile --virtual-time-budget=5000 " +
            options +
            " --enable-logging=stderr --dump-dom \"file://$PWD/probed.html\" >dom.html 2>log.txt";
        EXPECT_EQ(std::system(command.c_str()), 0) << text_of(dir / "log.txt");
        EXPECT_EQ(text_of(dir / "log.txt").find("CONSOLE"), std::string::npos)
            << text_of(dir / "log.txt");
        return text_of(dir / "dom.html");
    };
    for (const std::string width : {"1280", "390"}) {
        const std::string dom = show(
            "--window-size=" + width + ",844" +
            (width == "390" ? " --blink-settings=preferredColorScheme=0" : ""));
        const std::string root = between(dom, "<html", ">");
        EXPECT_NE(root.find("data-width=\"" + width + "\""), std::string::npos) << root;
        // Six charts of training; times, roofline, tuning.
        EXPECT_NE(root.find("data-charts=\"9/9\""), std::string::npos) << root;
        EXPECT_NE(root.find("data-blank=\"0\""), std::string::npos) << root;
        EXPECT_NE(root.find("data-wide=\"false\""), std::string::npos) << root;
        // The fastest comes first.
        EXPECT_NE(root.find("data-order=\"avx2,oneDNN,baseline,fast/avx2\""), std::string::npos)
            << root;
        // The one without a time stays last.
        EXPECT_NE(root.find("data-sorted=\"baseline,oneDNN,avx2,fast/avx2\""), std::string::npos)
            << root;
        EXPECT_NE(root.find("data-planted=\"0\""), std::string::npos) << root;
        EXPECT_NE(dom.find("<title>Halyard report</title>"), std::string::npos);
        EXPECT_NE(dom.find("&lt;/script&gt;&lt;script&gt;document.title='taken'"),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace halyard
