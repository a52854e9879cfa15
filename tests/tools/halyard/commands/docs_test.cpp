// Tests reference pages: every op has a complete one, and its commands run.
#include <nlohmann/json.hpp>

#include "tests/tools/command.h"

namespace halyard {
namespace {
using nlohmann::json;

const std::vector<std::string> sections = {"Tensors",  "Attributes", "Gradients", "Errors",
                                           "Accuracy", "Kernels",    "Example"};

// Returns the text below a heading, up to the next one.
std::string section(const std::string &page, const std::string &title) {
    const std::string heading = "\n## " + title + "\n\n";
    const size_t at = page.find(heading);
    if (at == std::string::npos) return "";
    const size_t from = at + heading.size();
    const size_t to = page.find("\n## ", from);
    return page.substr(from, to == std::string::npos ? to : to - from);
}
std::string block(const std::string &page, const std::string &language) {
    const size_t at = page.find("```" + language + "\n");
    if (at == std::string::npos) return "";
    const size_t from = page.find('\n', at) + 1;
    return page.substr(from, page.find("```", from) - from);
}
bool has(const std::string &text, const std::string &what) {
    return text.find(what) != std::string::npos;
}

class Docs : public Command {
protected:
    void SetUp() override {
        Command::SetUp();
        const Result written = halyard("docs --out docs");
        ASSERT_EQ(written.status, 0) << written.err;
        for (auto &op : json::parse(halyard("ops --json").out))
            if (!op["internal"]) ops.push_back(op);
        ASSERT_GT(ops.size(), 100u);
    }
    std::string page(const json &op) const {
        return text_of(dir / "docs" / (op["name"].get<std::string>() + ".md"));
    }
    std::vector<json> ops;
};

TEST_F(Docs, EveryOpHasACompletePage) {
    const std::string index = text_of(dir / "docs/index.md");
    for (auto &op : ops) {
        const std::string name = op["name"];
        const std::string text = page(op);
        ASSERT_TRUE(text.starts_with("# " + name + "\n\n")) << name;
        EXPECT_TRUE(has(index, "[" + name + "](" + name + ".md)")) << name;
        for (auto &title : sections)
            EXPECT_GT(section(text, title).size(), 4u) << name << ": " << title;
        EXPECT_FALSE(op["doc"].get<std::string>().empty()) << name;
        for (const char *key : {"signature", "doc", "class", "function", "family"}) {
            std::string value = op[key];
            for (size_t at = 0; (at = value.find('|', at)) != std::string::npos; at += 2)
                value.insert(at, "\\");
            EXPECT_TRUE(has(text, value) || has(text, op[key])) << name << ": " << key;
        }
        for (auto &a : op["attributes"]) {
            EXPECT_TRUE(has(section(text, "Attributes"), "`" + a["name"].get<std::string>() + "`"))
                << name << a;
        }
        for (auto &d : op["dtypes"]) {
            EXPECT_TRUE(has(section(text, "Tensors"), "`" + d.get<std::string>() + "`"))
                << name << d;
        }
        for (auto &v : op["variants"])
            EXPECT_TRUE(has(section(text, "Kernels"), v["name"])) << name << v;
        EXPECT_EQ(op["gradients"].empty(), has(section(text, "Gradients"), "None.")) << name;
        EXPECT_TRUE(has(block(text, "cpp"), "F::" + op["function"].get<std::string>() + "("))
            << name;
        EXPECT_TRUE(has(block(text, "cpp"), "ops::" + op["class"].get<std::string>())) << name;
        EXPECT_TRUE(has(block(text, "sh"), "halyard run " + name + " ")) << name;
    }
}

// Runs every tenth op, and the kinds that differ most; tests/tools/scenarios/run_docs_examples.sh
// has all of the C++.
TEST_F(Docs, CommandLinesRun) {
    std::vector<std::string> chosen = {"softmax", "conv2d",      "bernoulli", "lamb_",
                                       "concat",  "einsum",      "one_hot",   "cast",
                                       "fill",    "multinomial", "select"};
    for (size_t k = 0; k < ops.size(); k += 10)
        chosen.push_back(ops[k]["name"]);
    const std::string bin = fs::path(HALYARD_COMMAND).parent_path().string();
    for (auto &name : chosen) {
        const fs::path own = dir / ("run_" + name);
        fs::create_directories(own);
        const std::string lines = block(text_of(dir / "docs" / (name + ".md")), "sh");
        std::ofstream(own / "example.sh")
            << "set -e\ncd '" << own.string() << "'\nPATH='" << bin << "':\"$PATH\"\n"
            << lines;
        EXPECT_EQ(std::system(("sh '" + (own / "example.sh").string() + "' >'" +
                               (own / "log").string() + "' 2>&1")
                                  .c_str()),
                  0)
            << name << "\n"
            << lines << text_of(own / "log");
        EXPECT_TRUE(fs::exists(own / "result/out_0.npy")) << name;
    }
}

TEST_F(Docs, PrintsOnePageAndTheIndex) {
    EXPECT_EQ(halyard("docs softmax").out, text_of(dir / "docs/softmax.md"));
    EXPECT_EQ(halyard("docs power").out, text_of(dir / "docs/pow.md"));
    EXPECT_EQ(halyard("docs").out, text_of(dir / "docs/index.md"));
    expect_rejected("docs softmx", "[softmx] no such op; did you mean softmax");
    expect_rejected("docs softmax_dx", "[softmax_dx] is internal");
    expect_rejected("docs --out /proc/none", "can't be created");
}

TEST_F(Docs, OpsAreListedByFamilyDtypeAndGradient) {
    const std::string random = halyard("ops --family random").out;
    const std::string whole = halyard("ops --dtype u8 --no-gradient").out;
    EXPECT_TRUE(has(random, "\nuniform ") && has(random, "\ndropout "));
    EXPECT_FALSE(has(random, "\nsoftmax "));
    EXPECT_TRUE(has(whole, "\nbitwise_and "));
    EXPECT_FALSE(has(whole, "\nrelu ") || has(whole, "\nuniform "));
    expect_rejected("ops --dtype f8", "f8");
}

}  // namespace
}  // namespace halyard
