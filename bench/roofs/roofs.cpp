#include "bench/roofs/roofs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/version.h"

namespace halyard::roofs {
namespace {

// The number is raised when the measurements change, so that files of the old ones aren't read.
constexpr const char *first_line = "halyard roofs 2";

std::string processor() {
    std::ifstream info("/proc/cpuinfo");
    std::string name = "unknown processor";
    std::string family;
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("model name")) name = line.substr(line.find(": ") + 2);
        if (line.starts_with("cpu family") || line.starts_with("model\t"))
            family += (family.empty() ? " " : ".") + line.substr(line.find(": ") + 2);
        if (line.empty()) break;  // the first processor is enough
    }
    return name + family;
}

// Returns the least measured number of threads that is at least `threads`, else the largest.
template<class T> int measured_threads(const std::vector<T> &all, int threads) {
    int at_least = 0, max_threads = 0;
    for (const T &t : all) {
        if (t.threads >= threads && (at_least == 0 || t.threads < at_least)) at_least = t.threads;
        max_threads = std::max(max_threads, t.threads);
    }
    return at_least ? at_least : max_threads;
}

}  // namespace

std::string machine_key() {
    return processor() + ", " + std::to_string(std::thread::hardware_concurrency()) +
           " cores, up to " + name_of(active_isa()) + ", kit " + version();
}

double load_average() {
    double load[1] = {0};
    return getloadavg(load, 1) == 1 ? load[0] : 0;
}

const Level *Roofs::level(int threads, int64_t bytes) const {
    const int n = measured_threads(levels, threads);
    const Level *least = nullptr;
    for (const Level &l : levels) {
        if (l.threads == n && l.capacity >= bytes && (!least || l.capacity < least->capacity))
            least = &l;
    }
    return least;
}

double Roofs::peak(int threads, Isa isa, DType dtype) const {
    const int n = measured_threads(peaks, threads);
    for (const Peak &p : peaks) {
        if (p.threads == n && p.isa == isa &&
            p.dtype == (dtype == DType::f64 ? DType::f64 : DType::f32))
            return p.rate;
    }
    return 0;
}

Bound Roofs::bound(const Demand &d, int threads, Isa isa) const {
    // copies as much as possible, reads or writes the rest
    const auto moving = [&](const Level &l) {
        const double copied = std::min(d.read, d.written);
        return 2 * copied / l.copy + (d.read - copied) / l.read + (d.written - copied) / l.write;
    };
    const Level *found = level(threads, d.held);
    if (!found) return {0, ""};
    const Level &whole = *found;
    double seconds = moving(whole);
    const Level *part = nullptr;
    for (const Level &l : levels) {
        if (l.threads == whole.threads && l.capacity < whole.capacity &&
            (!part || l.capacity > part->capacity))
            part = &l;
    }
    if (part) {  // a smaller level, which holds a part
        const double share = double(part->capacity) / double(d.held);
        seconds = share * std::min(seconds, moving(*part)) + (1 - share) * seconds;
    }
    const double rate = peak(threads, isa, d.dtype);
    const double computing = rate > 0 ? d.operations / rate : 0;
    if (computing <= seconds) return {seconds, whole.name};
    return {computing, std::string(d.dtype == DType::f64 ? "f64 " : "f32 ") + name_of(isa)};
}

void save(const Roofs &r, const std::string &path) {
    std::ostringstream file;
    file.precision(17);  // so that a number read back prints the same
    file << first_line << "\n" << r.machine << "\nload " << r.load << "\n";
    file << "# level threads name capacity, then bytes per second: read write copy add bypass\n";
    for (const Level &l : r.levels) {
        file << "level " << l.threads << " " << l.name << " " << l.capacity << " " << l.read << " "
             << l.write << " " << l.copy << " " << l.add << " " << l.bypass << "\n";
    }
    file << "# peak threads isa dtype, operations per second\n";
    for (const Peak &p : r.peaks) {
        file << "peak " << p.threads << " " << name_of(p.isa) << " " << name_of(p.dtype) << " "
             << p.rate << "\n";
    }
    for (const std::string &line : r.unmeasured)
        file << "unmeasured " << line << "\n";
    file << "end\n";
    write_file(path, file.str());
}

bool load(Roofs &r, const std::string &path) {
    std::ifstream file(path);
    std::string line;
    Roofs found;
    bool whole = false;
    if (!std::getline(file, line) || line != first_line || !std::getline(file, found.machine) ||
        found.machine != machine_key())
        return false;
    try {
        while (std::getline(file, line)) {
            std::istringstream words(line);
            std::string kind, isa, dtype;
            words >> kind;
            if (kind == "load")
                words >> found.load;
            else if (kind == "level") {
                Level l;
                words >> l.threads >> l.name >> l.capacity >> l.read >> l.write >> l.copy >>
                    l.add >> l.bypass;
                found.levels.push_back(l);
            } else if (kind == "peak") {
                Peak p;
                words >> p.threads >> isa >> dtype >> p.rate;
                p.isa = isa_of(isa);
                p.dtype = dtype_of(dtype);
                found.peaks.push_back(p);
            } else if (kind == "unmeasured") {
                std::string reason;
                std::getline(words >> std::ws, reason);
                found.unmeasured.push_back(reason);
            }
            whole |= kind == "end";
            if (words.fail()) return false;
        }
    } catch (const Error &) {
        return false;
    }
    if (whole) r = found;
    return whole;
}

Roofs of_this_machine(const std::string &folder, bool remeasure, const Progress &progress) {
    std::string name = "roofs_" + machine_key() + ".txt";
    for (char &c : name)
        if (!std::isalnum((unsigned char)c) && c != '.') c = '_';
    const std::string path = (std::filesystem::path(folder) / name).string();
    Roofs r;
    if (!remeasure && load(r, path)) return r;
    r = measure(progress);
    save(r, path);
    return r;
}

}  // namespace halyard::roofs
