#include "tools/cli/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/core/quantity.h"

namespace memwall::cli {
namespace {

namespace fs = std::filesystem;

std::string compressed(std::string_view text, std::string& error) {
    // 15 + 16: the largest window, with a gzip header.
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        error = "cannot start compression";
        return {};
    }
    std::string out;
    std::string chunk(std::size_t{1} << 16, '\0');
    std::string in(text);
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    int status = Z_OK;
    while (status == Z_OK) {
        stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
        stream.avail_out = static_cast<uInt>(chunk.size());
        status = deflate(&stream, Z_FINISH);
        out.append(chunk, 0, chunk.size() - stream.avail_out);
    }
    deflateEnd(&stream);
    if (status != Z_STREAM_END) {
        error = "compression failed";
    }
    return out;
}

void complain_of_output(int error) {
    print_error(
        fmt::format("memwall: error: cannot write standard output: {}\n", std::strerror(error)));
}

// The regular file that a name stands for, links followed, or that would be made there. nullopt for everything that a
// rename would destroy or that a rename cannot feed: devices, pipes, what /dev and /proc hold, links to nothing.
std::optional<fs::path> replaceable(const fs::path& path) {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path, error))) {
        return path;
    }
    const fs::path real = fs::canonical(path, error);
    if (error || !fs::is_regular_file(real, error)) {
        return std::nullopt;
    }
    const std::string named = fs::absolute(path, error).lexically_normal().string();
    const bool of_a_process = named.starts_with("/dev/") || named.starts_with("/proc/");
    return of_a_process ? std::nullopt : std::optional(real);
}

// Returns errno, or 0.
int write_into(const fs::path& path, std::string_view content) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) {
        return errno;
    }
    int error = 0;
    if (std::fwrite(content.data(), 1, content.size(), file) != content.size() ||
        std::fflush(file) != 0) {
        error = errno;
    }
    if (std::fclose(file) != 0 && error == 0) {
        error = errno;
    }
    return error;
}

// Writes beside the target and renames: a reader never sees half a file. Returns errno, or 0.
int replace_file(const fs::path& target, std::string_view content) {
    const fs::path beside = fmt::format("{}.{}.part", target.string(), getpid());
    int error = write_into(beside, content);
    std::error_code ignored;
    if (error == 0) {
        const fs::file_status before = fs::status(target, ignored);
        if (fs::exists(before)) {
            fs::permissions(beside, before.permissions(), ignored);
        }
        std::error_code renamed;
        fs::rename(beside, target, renamed);
        error = renamed.value();
    }
    if (error != 0) {
        fs::remove(beside, ignored);
    }
    return error;
}

}  // namespace

TextStyle style_for(int file_descriptor, std::string_view color) {
    TextStyle style;
    const bool terminal = isatty(file_descriptor) == 1;
    const char* no_color = std::getenv("NO_COLOR");
    const bool refused = no_color != nullptr && *no_color != '\0';
    style.color = color == "always" || (color != "never" && terminal && !refused);
    winsize size{};
    const char* columns = std::getenv("COLUMNS");
    const auto asked = parse<int>(columns == nullptr ? "" : columns);
    if (asked && *asked > 0) {
        style.width = *asked;
    } else if (terminal && ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        style.width = size.ws_col;
    }
    style.width = std::clamp(style.width, 60, 160);
    return style;
}

std::vector<std::string> data_roots(const std::vector<std::string>& given) {
    std::vector<std::string> roots = given;
    if (const char* from_environment = std::getenv("MEMWALL_DATA");
        from_environment != nullptr && *from_environment != '\0') {
        roots.emplace_back(from_environment);
    }
    std::error_code ignored;
    if (fs::exists(fs::path(MEMWALL_SOURCE_DIR) / "topologies", ignored)) {
        roots.emplace_back(MEMWALL_SOURCE_DIR);
    }
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    const fs::path installed = program.parent_path().parent_path() / "share" / "memwall";
    if (!program.empty() && fs::exists(installed / "topologies", ignored)) {
        roots.push_back(installed.string());
    }
    return roots;
}

std::string read_standard_input() {
    std::ostringstream all;
    all << std::cin.rdbuf();
    return all.str();
}

std::string write_file(const std::string& path, std::string_view text) {
    std::string error;
    const std::string packed = path.ends_with(".gz") ? compressed(text, error) : std::string();
    const std::string_view content = path.ends_with(".gz") ? std::string_view(packed) : text;
    if (!error.empty()) {
        return error;
    }
    const std::optional<fs::path> target = replaceable(path);
    const int failed = target ? replace_file(*target, content) : write_into(path, content);
    return failed == 0 ? "" : fmt::format("cannot write {}: {}", path, std::strerror(failed));
}

void print(std::string_view text) {
    if (std::ferror(stdout) != 0) {
        return;  // said at the first failure
    }
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
        complain_of_output(errno);
    }
}

bool close_output() {
    const bool failed_before = std::ferror(stdout) != 0;
    if (std::fclose(stdout) == 0) {
        return !failed_before;
    }
    if (!failed_before) {
        complain_of_output(errno);
    }
    return false;
}

void print_error(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace memwall::cli
